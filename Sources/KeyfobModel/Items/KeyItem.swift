public import Foundation

/// A key on the token; `kSecClassKey`.
public struct KeyItem: KeychainItem {
    /// `keys`.
    public static var itemClass: ItemClass { .key }
    /// The underlying item.
    public var item: Item

    /// Wraps an item of this class.
    public init(item: Item) { self.item = item }

    /// The class of the key: public, private or symmetric; `kSecAttrKeyClass`.
    public var keyClass: KeyClass? { attributes[.keyClass]?.number.map { KeyClass(rawValue: $0) } }

    /// The algorithm; `kSecAttrKeyType`.
    public var keyType: KeyAlgorithmType? { attributes[.type]?.number.map { KeyAlgorithmType(rawValue: $0) } }

    /// The size in bits; `kSecAttrKeySizeInBits`.
    public var sizeInBits: Int? { attributes[.keySizeInBits]?.number.flatMap { Int(exactly: $0) } }

    /// SHA-1 of the public key's bits: `CKA_ID`, `kSecAttrApplicationLabel`, the key identifier of RFC 5280; `nil` for
    /// a key without an identifier whose public key is unknown.
    public var publicKeyHash: Data? { attributes[.applicationLabel]?.bytes.flatMap { $0.isEmpty ? nil : $0 } }

    /// Application-defined bytes; `kSecAttrApplicationTag`.
    public var applicationTag: Data? {
        get { attributes[.applicationTag]?.bytes }
        set { attributes[.applicationTag] = newValue.map { .data($0) } }
    }

    /// Whether the key is extractable from the token; `CKA_EXTRACTABLE`.
    public var isExtractable: Bool { attributes[.isExtractable]?.number == 1 }

    /// Whether the key's value cannot be read in plaintext; `CKA_SENSITIVE`.
    public var isSensitive: Bool { attributes[.isSensitive]?.number == 1 }

    /// Whether the key can sign; `CKA_SIGN`.
    public var canSign: Bool { attributes[.canSign]?.number == 1 }
}

/// The class of a key; Apple's values of `kSecAttrKeyClass`.
public struct KeyClass: RawRepresentable, Hashable, Sendable {
    /// Apple's number.
    public let rawValue: Int64
    /// Creates a class from Apple's number.
    public init(rawValue: Int64) { self.rawValue = rawValue }
    /// A public key; `CKO_PUBLIC_KEY`.
    public static let `public` = Self(rawValue: 0)
    /// A private key; `CKO_PRIVATE_KEY`.
    public static let `private` = Self(rawValue: 1)
    /// A secret key; `CKO_SECRET_KEY`.
    public static let symmetric = Self(rawValue: 2)
}

/// The algorithm of a key; Apple's values of `kSecAttrKeyType`.
public struct KeyAlgorithmType: RawRepresentable, Hashable, Sendable {
    /// Apple's number.
    public let rawValue: Int64
    /// Creates a type from Apple's number. Unknown numbers are kept.
    public init(rawValue: Int64) { self.rawValue = rawValue }
    /// RSA.
    public static let rsa = Self(rawValue: 42)
    /// Elliptic curves over a prime field: P-256, P-384, P-521.
    public static let ec = Self(rawValue: 73)
    /// Ed25519.
    public static let ed25519 = Self(rawValue: 105)
    /// AES; CSSM's number, which is also Apple's `kSecAttrKeyTypeAES`.
    public static let aes = Self(rawValue: 2_147_483_649)
}
