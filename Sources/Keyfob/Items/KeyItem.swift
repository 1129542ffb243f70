public import Foundation

/// A key on the token; `kSecClassKey`.
public struct KeyItem: KeychainItem {
    /// `keys`.
    public static var itemClass: ItemClass { .key }
    /// The item underneath.
    public var item: Item

    /// The typed face of an item of this class.
    public init(item: Item) { self.item = item }

    /// Which half of a pair it is, or that it is a secret key; `kSecAttrKeyClass`.
    public var keyClass: KeyClass? { attributes[.keyClass]?.number.map { KeyClass(rawValue: $0) } }

    /// The algorithm; `kSecAttrKeyType`.
    public var keyType: KeyAlgorithmType? { attributes[.type]?.number.map { KeyAlgorithmType(rawValue: $0) } }

    /// The size in bits; `kSecAttrKeySizeInBits`.
    public var sizeInBits: Int? { attributes[.keySizeInBits]?.number.flatMap { Int(exactly: $0) } }

    /// SHA-1 of the public key's bits: `CKA_ID`, `kSecAttrApplicationLabel`, RFC 5280's key identifier; `nil` for a key
    /// that has no identifier, and whose public key is not known.
    public var publicKeyHash: Data? { attributes[.applicationLabel]?.bytes.flatMap { $0.isEmpty ? nil : $0 } }

    /// Bytes of the application's own; `kSecAttrApplicationTag`.
    public var applicationTag: Data? {
        get { attributes[.applicationTag]?.bytes }
        set { attributes[.applicationTag] = newValue.map { .data($0) } }
    }

    /// Whether the key may leave the token; `CKA_EXTRACTABLE`.
    public var isExtractable: Bool { attributes[.isExtractable]?.number == 1 }

    /// Whether the key's value can be read; `CKA_SENSITIVE` is its opposite.
    public var isSensitive: Bool { attributes[.isSensitive]?.number == 1 }

    /// Whether the key signs; `CKA_SIGN`.
    public var canSign: Bool { attributes[.canSign]?.number == 1 }
}

/// Which half of a pair a key is; Apple's values of `kSecAttrKeyClass`.
public struct KeyClass: RawRepresentable, Hashable, Sendable {
    /// Apple's number.
    public let rawValue: Int64
    /// A class by Apple's number.
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
    /// A type by Apple's number; numbers this version does not know are kept.
    public init(rawValue: Int64) { self.rawValue = rawValue }
    /// RSA.
    public static let rsa = Self(rawValue: 42)
    /// Elliptic curves over a prime field: P-256, P-384, P-521.
    public static let ec = Self(rawValue: 73)
    /// Ed25519.
    public static let ed25519 = Self(rawValue: 105)
    /// AES; CSSM's number, which Apple's `kSecAttrKeyTypeAES` has.
    public static let aes = Self(rawValue: 2_147_483_649)
}
