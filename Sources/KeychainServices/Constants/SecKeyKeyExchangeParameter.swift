public import Foundation

/// A parameter of a key exchange; `SecKeyKeyExchangeParameter` of SecKey.h.
// Unchecked because CFString is not Sendable. The strings are immutable copies.
public struct SecKeyKeyExchangeParameter: RawRepresentable, Hashable, @unchecked Sendable {
    /// The key of the parameter in the dictionary of parameters.
    public let rawValue: CFString
    /// Creates a parameter from its key.
    public init(rawValue: CFString) { self.rawValue = NSString(string: rawValue as String) }
    /// Creates a parameter from its key.
    public init(_ rawValue: CFString) { self.init(rawValue: rawValue) }

    /// The number of bytes to derive; a number that the algorithms with a KDF require.
    public static let requestedSize = Self(rawValue: "requestedSize")
    /// Data that both sides know besides the secret; an input of the KDF.
    public static let sharedInfo = Self(rawValue: "sharedInfo")
}

// On Apple's platforms the type bridges to its string when a dictionary is coerced, as in `[.requestedSize: 32] as
// CFDictionary`. Without this conformance the key would be an opaque box that no lookup finds.
extension SecKeyKeyExchangeParameter: _ObjectiveCBridgeable {
    /// The key of the parameter.
    public func _bridgeToObjectiveC() -> NSString { rawValue }

    /// Creates a parameter from its key.
    public static func _forceBridgeFromObjectiveC(_ source: NSString, result: inout SecKeyKeyExchangeParameter?) {
        result = SecKeyKeyExchangeParameter(rawValue: source)
    }

    /// Creates a parameter from its key; always succeeds.
    public static func _conditionallyBridgeFromObjectiveC(
        _ source: NSString, result: inout SecKeyKeyExchangeParameter?
    ) -> Bool {
        result = SecKeyKeyExchangeParameter(rawValue: source)
        return true
    }

    /// Creates a parameter from its key; an empty one for `nil`.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSString?) -> SecKeyKeyExchangeParameter {
        SecKeyKeyExchangeParameter(rawValue: source ?? "")
    }
}
