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
