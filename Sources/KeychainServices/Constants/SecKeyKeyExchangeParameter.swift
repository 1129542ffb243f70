public import Foundation

/// A parameter of a key exchange; `SecKeyKeyExchangeParameter` of SecKey.h.
// A CFString is not Sendable. One whose content never changes is safe to share, and every member is a literal.
public struct SecKeyKeyExchangeParameter: RawRepresentable, Hashable, @unchecked Sendable {
    /// The key of the parameter in the dictionary of parameters.
    public let rawValue: CFString
    /// A parameter by its key.
    public init(rawValue: CFString) { self.rawValue = NSString(string: rawValue as String) }
    /// A parameter by its key.
    public init(_ rawValue: CFString) { self.init(rawValue: rawValue) }

    /// How many bytes are wanted; a number. The algorithms with a KDF need it.
    public static let requestedSize = Self(rawValue: "requestedSize")
    /// What both sides know besides the secret; data, and an input of the KDF.
    public static let sharedInfo = Self(rawValue: "sharedInfo")
}

// On Apple's platforms the type becomes its string where a dictionary is coerced: `[.requestedSize: 32] as
// CFDictionary`. Without this the key of that dictionary would be a box that nobody finds.
extension SecKeyKeyExchangeParameter: _ObjectiveCBridgeable {
    /// The key of the parameter.
    public func _bridgeToObjectiveC() -> NSString { rawValue }

    /// A parameter by its key.
    public static func _forceBridgeFromObjectiveC(_ source: NSString, result: inout SecKeyKeyExchangeParameter?) {
        result = SecKeyKeyExchangeParameter(rawValue: source)
    }

    /// A parameter by its key; every string is one.
    public static func _conditionallyBridgeFromObjectiveC(
        _ source: NSString, result: inout SecKeyKeyExchangeParameter?
    ) -> Bool {
        result = SecKeyKeyExchangeParameter(rawValue: source)
        return true
    }

    /// A parameter by its key; the empty one for none.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSString?) -> SecKeyKeyExchangeParameter {
        SecKeyKeyExchangeParameter(rawValue: source ?? "")
    }
}
