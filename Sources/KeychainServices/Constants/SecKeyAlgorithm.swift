public import Foundation

/// An operation with a key and its parameters; `SecKeyAlgorithm` of SecKey.h.
///
/// The raw value is Apple's identifier. Unknown identifiers are allowed, and no key supports them.
// Unchecked because CFString is not Sendable. The strings are immutable copies.
public struct SecKeyAlgorithm: RawRepresentable, Hashable, @unchecked Sendable {
    /// Apple's identifier, such as `algid:sign:ECDSA:message-X962:SHA256`.
    public let rawValue: CFString
    /// Creates an algorithm from its identifier.
    public init(rawValue: CFString) { self.rawValue = Self.frozen(rawValue) }
    /// Creates an algorithm from its identifier.
    public init(_ rawValue: CFString) { self.init(rawValue: rawValue) }

    /// Returns an immutable copy of a string that may be mutable.
    private static func frozen(_ string: CFString) -> CFString {
        NSString(string: string as String)
    }
}

// MARK: RSA signatures

extension SecKeyAlgorithm {
    /// RSA on a block of the key's size, without padding.
    public static let rsaSignatureRaw = Self(rawValue: "algid:sign:RSA:raw")
    /// RSASSA-PKCS1-v1_5 on bytes that take the place of the DigestInfo.
    public static let rsaSignatureDigestPKCS1v15Raw = Self(rawValue: "algid:sign:RSA:digest-PKCS1v15")
    /// RSASSA-PKCS1-v1_5 on a SHA-1 digest.
    public static let rsaSignatureDigestPKCS1v15SHA1 = Self(rawValue: "algid:sign:RSA:digest-PKCS1v15:SHA1")
    /// RSASSA-PKCS1-v1_5 on a SHA-224 digest.
    public static let rsaSignatureDigestPKCS1v15SHA224 = Self(rawValue: "algid:sign:RSA:digest-PKCS1v15:SHA224")
    /// RSASSA-PKCS1-v1_5 on a SHA-256 digest.
    public static let rsaSignatureDigestPKCS1v15SHA256 = Self(rawValue: "algid:sign:RSA:digest-PKCS1v15:SHA256")
    /// RSASSA-PKCS1-v1_5 on a SHA-384 digest.
    public static let rsaSignatureDigestPKCS1v15SHA384 = Self(rawValue: "algid:sign:RSA:digest-PKCS1v15:SHA384")
    /// RSASSA-PKCS1-v1_5 on a SHA-512 digest.
    public static let rsaSignatureDigestPKCS1v15SHA512 = Self(rawValue: "algid:sign:RSA:digest-PKCS1v15:SHA512")
    /// RSASSA-PKCS1-v1_5 on a message, with SHA-1.
    public static let rsaSignatureMessagePKCS1v15SHA1 = Self(rawValue: "algid:sign:RSA:message-PKCS1v15:SHA1")
    /// RSASSA-PKCS1-v1_5 on a message, with SHA-224.
    public static let rsaSignatureMessagePKCS1v15SHA224 = Self(rawValue: "algid:sign:RSA:message-PKCS1v15:SHA224")
    /// RSASSA-PKCS1-v1_5 on a message, with SHA-256.
    public static let rsaSignatureMessagePKCS1v15SHA256 = Self(rawValue: "algid:sign:RSA:message-PKCS1v15:SHA256")
    /// RSASSA-PKCS1-v1_5 on a message, with SHA-384.
    public static let rsaSignatureMessagePKCS1v15SHA384 = Self(rawValue: "algid:sign:RSA:message-PKCS1v15:SHA384")
    /// RSASSA-PKCS1-v1_5 on a message, with SHA-512.
    public static let rsaSignatureMessagePKCS1v15SHA512 = Self(rawValue: "algid:sign:RSA:message-PKCS1v15:SHA512")
    /// RSASSA-PSS on a SHA-1 digest, with a salt of 20 bytes.
    public static let rsaSignatureDigestPSSSHA1 = Self(rawValue: "algid:sign:RSA:digest-PSS:SHA1:SHA1:20")
    /// RSASSA-PSS on a SHA-224 digest, with a salt of 28 bytes although the identifier says 24.
    public static let rsaSignatureDigestPSSSHA224 = Self(rawValue: "algid:sign:RSA:digest-PSS:SHA224:SHA224:24")
    /// RSASSA-PSS on a SHA-256 digest, with a salt of 32 bytes.
    public static let rsaSignatureDigestPSSSHA256 = Self(rawValue: "algid:sign:RSA:digest-PSS:SHA256:SHA256:32")
    /// RSASSA-PSS on a SHA-384 digest, with a salt of 48 bytes.
    public static let rsaSignatureDigestPSSSHA384 = Self(rawValue: "algid:sign:RSA:digest-PSS:SHA384:SHA384:48")
    /// RSASSA-PSS on a SHA-512 digest, with a salt of 64 bytes.
    public static let rsaSignatureDigestPSSSHA512 = Self(rawValue: "algid:sign:RSA:digest-PSS:SHA512:SHA512:64")
    /// RSASSA-PSS on a message, with SHA-1 and a salt of 20 bytes.
    public static let rsaSignatureMessagePSSSHA1 = Self(rawValue: "algid:sign:RSA:message-PSS:SHA1:SHA1:20")
    /// RSASSA-PSS on a message, with SHA-224 and a salt of 28 bytes although the identifier says 24.
    public static let rsaSignatureMessagePSSSHA224 = Self(rawValue: "algid:sign:RSA:message-PSS:SHA224:SHA224:24")
    /// RSASSA-PSS on a message, with SHA-256 and a salt of 32 bytes.
    public static let rsaSignatureMessagePSSSHA256 = Self(rawValue: "algid:sign:RSA:message-PSS:SHA256:SHA256:32")
    /// RSASSA-PSS on a message, with SHA-384 and a salt of 48 bytes.
    public static let rsaSignatureMessagePSSSHA384 = Self(rawValue: "algid:sign:RSA:message-PSS:SHA384:SHA384:48")
    /// RSASSA-PSS on a message, with SHA-512 and a salt of 64 bytes.
    public static let rsaSignatureMessagePSSSHA512 = Self(rawValue: "algid:sign:RSA:message-PSS:SHA512:SHA512:64")
}

// MARK: ECDSA signatures: X9.62 is a DER sequence of r and s, RFC 4754 their bytes one after the other

extension SecKeyAlgorithm {
    /// The older name of `ecdsaSignatureDigestRFC4754`, with another identifier.
    public static let ecdsaSignatureRFC4754 = Self(rawValue: "algid:sign:ECDSA:RFC4754")
    /// ECDSA on a digest of any kind, in DER.
    public static let ecdsaSignatureDigestX962 = Self(rawValue: "algid:sign:ECDSA:digest-X962")
    /// ECDSA on a SHA-1 digest, in DER.
    public static let ecdsaSignatureDigestX962SHA1 = Self(rawValue: "algid:sign:ECDSA:digest-X962:SHA1")
    /// ECDSA on a SHA-224 digest, in DER.
    public static let ecdsaSignatureDigestX962SHA224 = Self(rawValue: "algid:sign:ECDSA:digest-X962:SHA224")
    /// ECDSA on a SHA-256 digest, in DER.
    public static let ecdsaSignatureDigestX962SHA256 = Self(rawValue: "algid:sign:ECDSA:digest-X962:SHA256")
    /// ECDSA on a SHA-384 digest, in DER.
    public static let ecdsaSignatureDigestX962SHA384 = Self(rawValue: "algid:sign:ECDSA:digest-X962:SHA384")
    /// ECDSA on a SHA-512 digest, in DER.
    public static let ecdsaSignatureDigestX962SHA512 = Self(rawValue: "algid:sign:ECDSA:digest-X962:SHA512")
    /// ECDSA on a message with SHA-1, in DER.
    public static let ecdsaSignatureMessageX962SHA1 = Self(rawValue: "algid:sign:ECDSA:message-X962:SHA1")
    /// ECDSA on a message with SHA-224, in DER.
    public static let ecdsaSignatureMessageX962SHA224 = Self(rawValue: "algid:sign:ECDSA:message-X962:SHA224")
    /// ECDSA on a message with SHA-256, in DER.
    public static let ecdsaSignatureMessageX962SHA256 = Self(rawValue: "algid:sign:ECDSA:message-X962:SHA256")
    /// ECDSA on a message with SHA-384, in DER.
    public static let ecdsaSignatureMessageX962SHA384 = Self(rawValue: "algid:sign:ECDSA:message-X962:SHA384")
    /// ECDSA on a message with SHA-512, in DER.
    public static let ecdsaSignatureMessageX962SHA512 = Self(rawValue: "algid:sign:ECDSA:message-X962:SHA512")
    /// ECDSA on a digest of any kind, of fixed length.
    public static let ecdsaSignatureDigestRFC4754 = Self(rawValue: "algid:sign:ECDSA:digest-RFC4754")
    /// ECDSA on a SHA-1 digest, of fixed length.
    public static let ecdsaSignatureDigestRFC4754SHA1 = Self(rawValue: "algid:sign:ECDSA:digest-RFC4754:SHA1")
    /// ECDSA on a SHA-224 digest, of fixed length.
    public static let ecdsaSignatureDigestRFC4754SHA224 = Self(rawValue: "algid:sign:ECDSA:digest-RFC4754:SHA224")
    /// ECDSA on a SHA-256 digest, of fixed length.
    public static let ecdsaSignatureDigestRFC4754SHA256 = Self(rawValue: "algid:sign:ECDSA:digest-RFC4754:SHA256")
    /// ECDSA on a SHA-384 digest, of fixed length.
    public static let ecdsaSignatureDigestRFC4754SHA384 = Self(rawValue: "algid:sign:ECDSA:digest-RFC4754:SHA384")
    /// ECDSA on a SHA-512 digest, of fixed length.
    public static let ecdsaSignatureDigestRFC4754SHA512 = Self(rawValue: "algid:sign:ECDSA:digest-RFC4754:SHA512")
    /// ECDSA on a message with SHA-1, of fixed length.
    public static let ecdsaSignatureMessageRFC4754SHA1 = Self(rawValue: "algid:sign:ECDSA:message-RFC4754:SHA1")
    /// ECDSA on a message with SHA-224, of fixed length.
    public static let ecdsaSignatureMessageRFC4754SHA224 = Self(rawValue: "algid:sign:ECDSA:message-RFC4754:SHA224")
    /// ECDSA on a message with SHA-256, of fixed length.
    public static let ecdsaSignatureMessageRFC4754SHA256 = Self(rawValue: "algid:sign:ECDSA:message-RFC4754:SHA256")
    /// ECDSA on a message with SHA-384, of fixed length.
    public static let ecdsaSignatureMessageRFC4754SHA384 = Self(rawValue: "algid:sign:ECDSA:message-RFC4754:SHA384")
    /// ECDSA on a message with SHA-512, of fixed length.
    public static let ecdsaSignatureMessageRFC4754SHA512 = Self(rawValue: "algid:sign:ECDSA:message-RFC4754:SHA512")
}

// MARK: EdDSA signatures

extension SecKeyAlgorithm {
    /// Ed25519 on a message, RFC 8032.
    public static let eddsaSignatureMessageCurve25519SHA512 = Self(
        rawValue: "algid:sign:EdDSA:message-Curve25519:SHA512")
    /// Ed448 on a message, RFC 8032.
    public static let eddsaSignatureMessageCurve448SHAKE256 = Self(
        rawValue: "algid:sign:EdDSA:message-Curve448:SHAKE256")
}

// MARK: RSA encryption

extension SecKeyAlgorithm {
    /// RSA on a block, without padding.
    public static let rsaEncryptionRaw = Self(rawValue: "algid:encrypt:RSA:raw")
    /// RSAES-PKCS1-v1_5.
    public static let rsaEncryptionPKCS1 = Self(rawValue: "algid:encrypt:RSA:PKCS1")
    /// RSAES-OAEP with SHA-1.
    public static let rsaEncryptionOAEPSHA1 = Self(rawValue: "algid:encrypt:RSA:OAEP:SHA1")
    /// RSAES-OAEP with SHA-224.
    public static let rsaEncryptionOAEPSHA224 = Self(rawValue: "algid:encrypt:RSA:OAEP:SHA224")
    /// RSAES-OAEP with SHA-256.
    public static let rsaEncryptionOAEPSHA256 = Self(rawValue: "algid:encrypt:RSA:OAEP:SHA256")
    /// RSAES-OAEP with SHA-384.
    public static let rsaEncryptionOAEPSHA384 = Self(rawValue: "algid:encrypt:RSA:OAEP:SHA384")
    /// RSAES-OAEP with SHA-512.
    public static let rsaEncryptionOAEPSHA512 = Self(rawValue: "algid:encrypt:RSA:OAEP:SHA512")
    /// A fresh AES key under RSAES-OAEP with SHA-1, and the message under AES-GCM.
    public static let rsaEncryptionOAEPSHA1AESGCM = Self(rawValue: "algid:encrypt:RSA:OAEP:SHA1:AESGCM")
    /// A fresh AES key under RSAES-OAEP with SHA-224, and the message under AES-GCM.
    public static let rsaEncryptionOAEPSHA224AESGCM = Self(rawValue: "algid:encrypt:RSA:OAEP:SHA224:AESGCM")
    /// A fresh AES key under RSAES-OAEP with SHA-256, and the message under AES-GCM.
    public static let rsaEncryptionOAEPSHA256AESGCM = Self(rawValue: "algid:encrypt:RSA:OAEP:SHA256:AESGCM")
    /// A fresh AES key under RSAES-OAEP with SHA-384, and the message under AES-GCM.
    public static let rsaEncryptionOAEPSHA384AESGCM = Self(rawValue: "algid:encrypt:RSA:OAEP:SHA384:AESGCM")
    /// A fresh AES key under RSAES-OAEP with SHA-512, and the message under AES-GCM.
    public static let rsaEncryptionOAEPSHA512AESGCM = Self(rawValue: "algid:encrypt:RSA:OAEP:SHA512:AESGCM")
}

// MARK: ECIES encryption

extension SecKeyAlgorithm {
    /// ECIES: ECDH, the X9.63 KDF with SHA-1, AES-GCM with a zero IV.
    public static let eciesEncryptionStandardX963SHA1AESGCM = Self(
        rawValue: "algid:encrypt:ECIES:ECDH:KDFX963:SHA1:AESGCM")
    /// ECIES: ECDH, the X9.63 KDF with SHA-224, AES-GCM with a zero IV.
    public static let eciesEncryptionStandardX963SHA224AESGCM = Self(
        rawValue: "algid:encrypt:ECIES:ECDH:KDFX963:SHA224:AESGCM")
    /// ECIES: ECDH, the X9.63 KDF with SHA-256, AES-GCM with a zero IV.
    public static let eciesEncryptionStandardX963SHA256AESGCM = Self(
        rawValue: "algid:encrypt:ECIES:ECDH:KDFX963:SHA256:AESGCM")
    /// ECIES: ECDH, the X9.63 KDF with SHA-384, AES-GCM with a zero IV.
    public static let eciesEncryptionStandardX963SHA384AESGCM = Self(
        rawValue: "algid:encrypt:ECIES:ECDH:KDFX963:SHA384:AESGCM")
    /// ECIES: ECDH, the X9.63 KDF with SHA-512, AES-GCM with a zero IV.
    public static let eciesEncryptionStandardX963SHA512AESGCM = Self(
        rawValue: "algid:encrypt:ECIES:ECDH:KDFX963:SHA512:AESGCM")
    /// ECIES: ECDH, the X9.63 KDF with SHA-1, AES-GCM with an IV from the KDF.
    public static let eciesEncryptionStandardVariableIVX963SHA1AESGCM = Self(
        rawValue: "algid:encrypt:ECIES:ECDH:KDFX963:SHA1:AESGCM-KDFIV")
    /// ECIES: ECDH, the X9.63 KDF with SHA-224, AES-GCM with an IV from the KDF.
    public static let eciesEncryptionStandardVariableIVX963SHA224AESGCM = Self(
        rawValue: "algid:encrypt:ECIES:ECDH:KDFX963:SHA224:AESGCM-KDFIV")
    /// ECIES: ECDH, the X9.63 KDF with SHA-256, AES-GCM with an IV from the KDF.
    public static let eciesEncryptionStandardVariableIVX963SHA256AESGCM = Self(
        rawValue: "algid:encrypt:ECIES:ECDH:KDFX963:SHA256:AESGCM-KDFIV")
    /// ECIES: ECDH, the X9.63 KDF with SHA-384, AES-GCM with an IV from the KDF.
    public static let eciesEncryptionStandardVariableIVX963SHA384AESGCM = Self(
        rawValue: "algid:encrypt:ECIES:ECDH:KDFX963:SHA384:AESGCM-KDFIV")
    /// ECIES: ECDH, the X9.63 KDF with SHA-512, AES-GCM with an IV from the KDF.
    public static let eciesEncryptionStandardVariableIVX963SHA512AESGCM = Self(
        rawValue: "algid:encrypt:ECIES:ECDH:KDFX963:SHA512:AESGCM-KDFIV")
    /// ECIES: cofactor ECDH, the X9.63 KDF with SHA-1, AES-GCM with a zero IV.
    public static let eciesEncryptionCofactorX963SHA1AESGCM = Self(
        rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA1:AESGCM")
    /// ECIES: cofactor ECDH, the X9.63 KDF with SHA-224, AES-GCM with a zero IV.
    public static let eciesEncryptionCofactorX963SHA224AESGCM = Self(
        rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA224:AESGCM")
    /// ECIES: cofactor ECDH, the X9.63 KDF with SHA-256, AES-GCM with a zero IV.
    public static let eciesEncryptionCofactorX963SHA256AESGCM = Self(
        rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA256:AESGCM")
    /// ECIES: cofactor ECDH, the X9.63 KDF with SHA-384, AES-GCM with a zero IV.
    public static let eciesEncryptionCofactorX963SHA384AESGCM = Self(
        rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA384:AESGCM")
    /// ECIES: cofactor ECDH, the X9.63 KDF with SHA-512, AES-GCM with a zero IV.
    public static let eciesEncryptionCofactorX963SHA512AESGCM = Self(
        rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA512:AESGCM")
    /// ECIES: cofactor ECDH, the X9.63 KDF with SHA-1, AES-GCM with an IV from the KDF.
    public static let eciesEncryptionCofactorVariableIVX963SHA1AESGCM = Self(
        rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA1:AESGCM-KDFIV")
    /// ECIES: cofactor ECDH, the X9.63 KDF with SHA-224, AES-GCM with an IV from the KDF.
    public static let eciesEncryptionCofactorVariableIVX963SHA224AESGCM = Self(
        rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA224:AESGCM-KDFIV")
    /// ECIES: cofactor ECDH, the X9.63 KDF with SHA-256, AES-GCM with an IV from the KDF.
    public static let eciesEncryptionCofactorVariableIVX963SHA256AESGCM = Self(
        rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA256:AESGCM-KDFIV")
    /// ECIES: cofactor ECDH, the X9.63 KDF with SHA-384, AES-GCM with an IV from the KDF.
    public static let eciesEncryptionCofactorVariableIVX963SHA384AESGCM = Self(
        rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA384:AESGCM-KDFIV")
    /// ECIES: cofactor ECDH, the X9.63 KDF with SHA-512, AES-GCM with an IV from the KDF.
    public static let eciesEncryptionCofactorVariableIVX963SHA512AESGCM = Self(
        rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA512:AESGCM-KDFIV")
}

// MARK: Key exchange

extension SecKeyAlgorithm {
    /// ECDH; the shared secret without a KDF.
    public static let ecdhKeyExchangeStandard = Self(rawValue: "algid:keyexchange:ECDH")
    /// ECDH, then the X9.63 KDF with SHA-1.
    public static let ecdhKeyExchangeStandardX963SHA1 = Self(rawValue: "algid:keyexchange:ECDH:KDFX963:SHA1")
    /// ECDH, then the X9.63 KDF with SHA-224.
    public static let ecdhKeyExchangeStandardX963SHA224 = Self(rawValue: "algid:keyexchange:ECDH:KDFX963:SHA224")
    /// ECDH, then the X9.63 KDF with SHA-256.
    public static let ecdhKeyExchangeStandardX963SHA256 = Self(rawValue: "algid:keyexchange:ECDH:KDFX963:SHA256")
    /// ECDH, then the X9.63 KDF with SHA-384.
    public static let ecdhKeyExchangeStandardX963SHA384 = Self(rawValue: "algid:keyexchange:ECDH:KDFX963:SHA384")
    /// ECDH, then the X9.63 KDF with SHA-512.
    public static let ecdhKeyExchangeStandardX963SHA512 = Self(rawValue: "algid:keyexchange:ECDH:KDFX963:SHA512")
    /// Cofactor ECDH; the shared secret without a KDF.
    public static let ecdhKeyExchangeCofactor = Self(rawValue: "algid:keyexchange:ECDHC")
    /// Cofactor ECDH, then the X9.63 KDF with SHA-1.
    public static let ecdhKeyExchangeCofactorX963SHA1 = Self(rawValue: "algid:keyexchange:ECDHC:KDFX963:SHA1")
    /// Cofactor ECDH, then the X9.63 KDF with SHA-224.
    public static let ecdhKeyExchangeCofactorX963SHA224 = Self(rawValue: "algid:keyexchange:ECDHC:KDFX963:SHA224")
    /// Cofactor ECDH, then the X9.63 KDF with SHA-256.
    public static let ecdhKeyExchangeCofactorX963SHA256 = Self(rawValue: "algid:keyexchange:ECDHC:KDFX963:SHA256")
    /// Cofactor ECDH, then the X9.63 KDF with SHA-384.
    public static let ecdhKeyExchangeCofactorX963SHA384 = Self(rawValue: "algid:keyexchange:ECDHC:KDFX963:SHA384")
    /// Cofactor ECDH, then the X9.63 KDF with SHA-512.
    public static let ecdhKeyExchangeCofactorX963SHA512 = Self(rawValue: "algid:keyexchange:ECDHC:KDFX963:SHA512")
}

// MARK: Key encapsulation and lattice signatures; no token here has them

extension SecKeyAlgorithm {
    /// Kyber.
    public static let kemKyber = Self(rawValue: "algid:kem:kyber")
    /// ML-KEM.
    public static let kemMLKEM = Self(rawValue: "algid:kem:ML-KEM")
    /// ML-DSA on a message.
    public static let mldsaSignatureMessage = Self(rawValue: "algid:sign:ML-DSA:message")
}
