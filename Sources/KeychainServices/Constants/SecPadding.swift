/// The padding of an RSA block in the older functions for keys; `SecPadding` of SecKey.h.
public struct SecPadding: OptionSet, Hashable, Sendable {
    /// Apple's number.
    public let rawValue: UInt32
    /// Creates a padding from any number; unknown ones are refused.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// PKCS#1 v1.5.
    public static let PKCS1 = Self(rawValue: 1)
    /// OAEP with SHA-1; for encryption.
    public static let OAEP = Self(rawValue: 2)
    /// r and s concatenated, for keys on elliptic curves.
    public static let sigRaw = Self(rawValue: 0x4000)
    /// A signature over an MD2 digest; not supported.
    public static let PKCS1MD2 = Self(rawValue: 0x8000)
    /// A signature over an MD5 digest; not supported.
    public static let PKCS1MD5 = Self(rawValue: 0x8001)
    /// A signature over a SHA-1 digest.
    public static let PKCS1SHA1 = Self(rawValue: 0x8002)
    /// A signature over a SHA-224 digest.
    public static let PKCS1SHA224 = Self(rawValue: 0x8003)
    /// A signature over a SHA-256 digest.
    public static let PKCS1SHA256 = Self(rawValue: 0x8004)
    /// A signature over a SHA-384 digest.
    public static let PKCS1SHA384 = Self(rawValue: 0x8005)
    /// A signature over a SHA-512 digest.
    public static let PKCS1SHA512 = Self(rawValue: 0x8006)
}
