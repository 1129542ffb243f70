import CP11Kit

/// A digest algorithm, with its numbers in Cryptoki: by itself, in a mask and in signatures.
public struct HashAlgorithm: Hashable, Sendable, CustomStringConvertible {
    /// The usual name, such as `SHA-256`.
    public let name: String

    /// The length of a digest in bytes.
    public let digestLength: Int

    /// The digest as a mechanism of its own, such as `CKM_SHA256`.
    public let mechanismType: MechanismType

    /// RSA with PKCS #1 v1.5 padding over this digest, such as `CKM_SHA256_RSA_PKCS`.
    public let rsaPKCS: MechanismType

    /// RSA-PSS over this digest, such as `CKM_SHA256_RSA_PKCS_PSS`.
    public let rsaPSS: MechanismType

    /// ECDSA over this digest, such as `CKM_ECDSA_SHA256`. SoftHSM has none of them.
    public let ecdsa: MechanismType

    /// The HMAC with this digest, such as `CKM_SHA256_HMAC`.
    public let hmac: MechanismType

    /// The mask generation function with this digest, such as `CKG_MGF1_SHA256`.
    let maskGenerationFunction: UInt

    /// The same as `name`.
    public var description: String { name }

    /// SHA-1; for RSA-OAEP, since SoftHSM supports no other hash there, and for verifying old signatures.
    public static let sha1 = HashAlgorithm(
        name: "SHA-1", digestLength: 20, mechanismType: .sha1, rsaPKCS: .sha1RSAPKCS, rsaPSS: .sha1RSAPSS,
        ecdsa: .ecdsaSHA1, hmac: .sha1HMAC, maskGenerationFunction: CKG_MGF1_SHA1)

    /// SHA-224.
    public static let sha224 = HashAlgorithm(
        name: "SHA-224", digestLength: 28, mechanismType: .sha224, rsaPKCS: .sha224RSAPKCS, rsaPSS: .sha224RSAPSS,
        ecdsa: .ecdsaSHA224, hmac: .sha224HMAC, maskGenerationFunction: CKG_MGF1_SHA224)

    /// SHA-256.
    public static let sha256 = HashAlgorithm(
        name: "SHA-256", digestLength: 32, mechanismType: .sha256, rsaPKCS: .sha256RSAPKCS, rsaPSS: .sha256RSAPSS,
        ecdsa: .ecdsaSHA256, hmac: .sha256HMAC, maskGenerationFunction: CKG_MGF1_SHA256)

    /// SHA-384.
    public static let sha384 = HashAlgorithm(
        name: "SHA-384", digestLength: 48, mechanismType: .sha384, rsaPKCS: .sha384RSAPKCS, rsaPSS: .sha384RSAPSS,
        ecdsa: .ecdsaSHA384, hmac: .sha384HMAC, maskGenerationFunction: CKG_MGF1_SHA384)

    /// SHA-512.
    public static let sha512 = HashAlgorithm(
        name: "SHA-512", digestLength: 64, mechanismType: .sha512, rsaPKCS: .sha512RSAPKCS, rsaPSS: .sha512RSAPSS,
        ecdsa: .ecdsaSHA512, hmac: .sha512HMAC, maskGenerationFunction: CKG_MGF1_SHA512)

    /// All digest algorithms, shortest digest first.
    public static let all: [HashAlgorithm] = [.sha1, .sha224, .sha256, .sha384, .sha512]
}
