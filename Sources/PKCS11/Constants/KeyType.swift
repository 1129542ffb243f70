// Written by Scripts/generate-constants; change the script, not this file.

/// The type of a key on a token: `CKK_*`.
public struct KeyType: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number in the C interface.
    public let rawValue: UInt

    /// Wraps a number, known or not.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// The specification's spelling, or the number in hexadecimal where there is none.
    public var name: String { Self.names[rawValue] ?? "0x" + String(rawValue, radix: 16) }

    /// The same as `name`.
    public var description: String { name }

    /// Corresponds to `CKK_RSA`.
    public static let rsa = KeyType(rawValue: 0x0)
    /// Corresponds to `CKK_DSA`.
    public static let dsa = KeyType(rawValue: 0x1)
    /// Corresponds to `CKK_DH`.
    public static let dh = KeyType(rawValue: 0x2)
    /// Corresponds to `CKK_EC`.
    public static let ec = KeyType(rawValue: 0x3)
    /// Corresponds to `CKK_X9_42_DH`.
    public static let x9_42DH = KeyType(rawValue: 0x4)
    /// Corresponds to `CKK_KEA`.
    public static let kea = KeyType(rawValue: 0x5)
    /// Corresponds to `CKK_GENERIC_SECRET`.
    public static let genericSecret = KeyType(rawValue: 0x10)
    /// Corresponds to `CKK_RC2`.
    public static let rc2 = KeyType(rawValue: 0x11)
    /// Corresponds to `CKK_RC4`.
    public static let rc4 = KeyType(rawValue: 0x12)
    /// Corresponds to `CKK_DES`.
    public static let des = KeyType(rawValue: 0x13)
    /// Corresponds to `CKK_DES2`.
    public static let des2 = KeyType(rawValue: 0x14)
    /// Corresponds to `CKK_DES3`.
    public static let des3 = KeyType(rawValue: 0x15)
    /// Corresponds to `CKK_CAST`.
    public static let cast = KeyType(rawValue: 0x16)
    /// Corresponds to `CKK_CAST3`.
    public static let cast3 = KeyType(rawValue: 0x17)
    /// Corresponds to `CKK_CAST128`.
    public static let cast128 = KeyType(rawValue: 0x18)
    /// Corresponds to `CKK_RC5`.
    public static let rc5 = KeyType(rawValue: 0x19)
    /// Corresponds to `CKK_IDEA`.
    public static let idea = KeyType(rawValue: 0x1a)
    /// Corresponds to `CKK_SKIPJACK`.
    public static let skipjack = KeyType(rawValue: 0x1b)
    /// Corresponds to `CKK_BATON`.
    public static let baton = KeyType(rawValue: 0x1c)
    /// Corresponds to `CKK_JUNIPER`.
    public static let juniper = KeyType(rawValue: 0x1d)
    /// Corresponds to `CKK_CDMF`.
    public static let cdmf = KeyType(rawValue: 0x1e)
    /// Corresponds to `CKK_AES`.
    public static let aes = KeyType(rawValue: 0x1f)
    /// Corresponds to `CKK_BLOWFISH`.
    public static let blowfish = KeyType(rawValue: 0x20)
    /// Corresponds to `CKK_TWOFISH`.
    public static let twofish = KeyType(rawValue: 0x21)
    /// Corresponds to `CKK_SECURID`.
    public static let securid = KeyType(rawValue: 0x22)
    /// Corresponds to `CKK_HOTP`.
    public static let hotp = KeyType(rawValue: 0x23)
    /// Corresponds to `CKK_ACTI`.
    public static let acti = KeyType(rawValue: 0x24)
    /// Corresponds to `CKK_CAMELLIA`.
    public static let camellia = KeyType(rawValue: 0x25)
    /// Corresponds to `CKK_ARIA`.
    public static let aria = KeyType(rawValue: 0x26)
    /// Corresponds to `CKK_MD5_HMAC`.
    public static let md5HMAC = KeyType(rawValue: 0x27)
    /// Corresponds to `CKK_SHA_1_HMAC`.
    public static let sha1HMAC = KeyType(rawValue: 0x28)
    /// Corresponds to `CKK_RIPEMD128_HMAC`.
    public static let ripemd128HMAC = KeyType(rawValue: 0x29)
    /// Corresponds to `CKK_RIPEMD160_HMAC`.
    public static let ripemd160HMAC = KeyType(rawValue: 0x2a)
    /// Corresponds to `CKK_SHA256_HMAC`.
    public static let sha256HMAC = KeyType(rawValue: 0x2b)
    /// Corresponds to `CKK_SHA384_HMAC`.
    public static let sha384HMAC = KeyType(rawValue: 0x2c)
    /// Corresponds to `CKK_SHA512_HMAC`.
    public static let sha512HMAC = KeyType(rawValue: 0x2d)
    /// Corresponds to `CKK_SHA224_HMAC`.
    public static let sha224HMAC = KeyType(rawValue: 0x2e)
    /// Corresponds to `CKK_SEED`.
    public static let seed = KeyType(rawValue: 0x2f)
    /// Corresponds to `CKK_GOSTR3410`.
    public static let gostr3410 = KeyType(rawValue: 0x30)
    /// Corresponds to `CKK_GOSTR3411`.
    public static let gostr3411 = KeyType(rawValue: 0x31)
    /// Corresponds to `CKK_GOST28147`.
    public static let gost28147 = KeyType(rawValue: 0x32)
    /// Corresponds to `CKK_EC_EDWARDS`.
    public static let ecEdwards = KeyType(rawValue: 0x40)
    /// Corresponds to `CKK_EC_MONTGOMERY`.
    public static let ecMontgomery = KeyType(rawValue: 0x41)
    /// Corresponds to `CKK_HKDF`.
    public static let hkdf = KeyType(rawValue: 0x42)

    /// The specification's spellings, for messages.
    static let names: [UInt: String] = [
        0x0: "CKK_RSA",
        0x1: "CKK_DSA",
        0x2: "CKK_DH",
        0x3: "CKK_EC",
        0x4: "CKK_X9_42_DH",
        0x5: "CKK_KEA",
        0x10: "CKK_GENERIC_SECRET",
        0x11: "CKK_RC2",
        0x12: "CKK_RC4",
        0x13: "CKK_DES",
        0x14: "CKK_DES2",
        0x15: "CKK_DES3",
        0x16: "CKK_CAST",
        0x17: "CKK_CAST3",
        0x18: "CKK_CAST128",
        0x19: "CKK_RC5",
        0x1a: "CKK_IDEA",
        0x1b: "CKK_SKIPJACK",
        0x1c: "CKK_BATON",
        0x1d: "CKK_JUNIPER",
        0x1e: "CKK_CDMF",
        0x1f: "CKK_AES",
        0x20: "CKK_BLOWFISH",
        0x21: "CKK_TWOFISH",
        0x22: "CKK_SECURID",
        0x23: "CKK_HOTP",
        0x24: "CKK_ACTI",
        0x25: "CKK_CAMELLIA",
        0x26: "CKK_ARIA",
        0x27: "CKK_MD5_HMAC",
        0x28: "CKK_SHA_1_HMAC",
        0x29: "CKK_RIPEMD128_HMAC",
        0x2a: "CKK_RIPEMD160_HMAC",
        0x2b: "CKK_SHA256_HMAC",
        0x2c: "CKK_SHA384_HMAC",
        0x2d: "CKK_SHA512_HMAC",
        0x2e: "CKK_SHA224_HMAC",
        0x2f: "CKK_SEED",
        0x30: "CKK_GOSTR3410",
        0x31: "CKK_GOSTR3411",
        0x32: "CKK_GOST28147",
        0x40: "CKK_EC_EDWARDS",
        0x41: "CKK_EC_MONTGOMERY",
        0x42: "CKK_HKDF",
    ]
}
