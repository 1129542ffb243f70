import Foundation
import KeychainServices
import Testing

/// The names of algorithms against Apple's patterns.
@Suite struct AlgorithmNameTests {
    /// A family of algorithms: for each hash, the expected name and the constant.
    struct Family: Sendable, CustomTestStringConvertible {
        let pattern: String
        let members: [SecKeyAlgorithm]
        var testDescription: String { pattern }

        init(_ pattern: String, _ members: SecKeyAlgorithm...) { (self.pattern, self.members) = (pattern, members) }
    }

    @Test(arguments: families) func `The members of a family follow its pattern`(family: Family) {
        let hashes = ["SHA1", "SHA224", "SHA256", "SHA384", "SHA512"]
        let salts = ["20", "24", "32", "48", "64"]
        let expected = zip(hashes, salts).map { hash, salt in
            family.pattern.replacingOccurrences(of: "HASH", with: hash).replacingOccurrences(of: "LEN", with: salt)
        }
        #expect(family.members.map { $0.rawValue as String } == expected)
    }

    @Test(arguments: [
        ("algid:sign:RSA:raw", SecKeyAlgorithm.rsaSignatureRaw),
        ("algid:sign:RSA:digest-PKCS1v15", .rsaSignatureDigestPKCS1v15Raw),
        ("algid:sign:ECDSA:digest-X962", .ecdsaSignatureDigestX962),
        ("algid:sign:ECDSA:digest-RFC4754", .ecdsaSignatureDigestRFC4754),
        ("algid:encrypt:RSA:raw", .rsaEncryptionRaw),
        ("algid:encrypt:RSA:PKCS1", .rsaEncryptionPKCS1),
        ("algid:keyexchange:ECDH", .ecdhKeyExchangeStandard),
        ("algid:keyexchange:ECDHC", .ecdhKeyExchangeCofactor),
        ("algid:sign:EdDSA:message-Curve25519:SHA512", .eddsaSignatureMessageCurve25519SHA512),
        ("algid:sign:EdDSA:message-Curve448:SHAKE256", .eddsaSignatureMessageCurve448SHAKE256),
        ("algid:kem:kyber", .kemKyber),
        ("algid:kem:ML-KEM", .kemMLKEM),
        ("algid:sign:ML-DSA:message", .mldsaSignatureMessage),
    ]) func `An algorithm without a hash has its identifier`(identifier: String, algorithm: SecKeyAlgorithm) {
        #expect(algorithm.rawValue as String == identifier)
        #expect(SecKeyAlgorithm(rawValue: NSString(string: identifier)) == algorithm)
    }

    @Test func `An algorithm does not follow a string that changes later`() {
        let text = NSMutableString(string: "algid:sign:RSA:raw")
        let algorithm = SecKeyAlgorithm(rawValue: text)
        text.append("er")
        #expect(algorithm == .rsaSignatureRaw)
    }

    static let families: [Family] = [
        Family(
            "algid:sign:RSA:digest-PKCS1v15:HASH", .rsaSignatureDigestPKCS1v15SHA1, .rsaSignatureDigestPKCS1v15SHA224,
            .rsaSignatureDigestPKCS1v15SHA256, .rsaSignatureDigestPKCS1v15SHA384, .rsaSignatureDigestPKCS1v15SHA512),
        Family(
            "algid:sign:RSA:message-PKCS1v15:HASH", .rsaSignatureMessagePKCS1v15SHA1,
            .rsaSignatureMessagePKCS1v15SHA224, .rsaSignatureMessagePKCS1v15SHA256, .rsaSignatureMessagePKCS1v15SHA384,
            .rsaSignatureMessagePKCS1v15SHA512),
        Family(
            "algid:sign:RSA:digest-PSS:HASH:HASH:LEN", .rsaSignatureDigestPSSSHA1, .rsaSignatureDigestPSSSHA224,
            .rsaSignatureDigestPSSSHA256, .rsaSignatureDigestPSSSHA384, .rsaSignatureDigestPSSSHA512),
        Family(
            "algid:sign:RSA:message-PSS:HASH:HASH:LEN", .rsaSignatureMessagePSSSHA1, .rsaSignatureMessagePSSSHA224,
            .rsaSignatureMessagePSSSHA256, .rsaSignatureMessagePSSSHA384, .rsaSignatureMessagePSSSHA512),
        Family(
            "algid:sign:ECDSA:digest-X962:HASH", .ecdsaSignatureDigestX962SHA1, .ecdsaSignatureDigestX962SHA224,
            .ecdsaSignatureDigestX962SHA256, .ecdsaSignatureDigestX962SHA384, .ecdsaSignatureDigestX962SHA512),
        Family(
            "algid:sign:ECDSA:message-X962:HASH", .ecdsaSignatureMessageX962SHA1, .ecdsaSignatureMessageX962SHA224,
            .ecdsaSignatureMessageX962SHA256, .ecdsaSignatureMessageX962SHA384, .ecdsaSignatureMessageX962SHA512),
        Family(
            "algid:sign:ECDSA:digest-RFC4754:HASH", .ecdsaSignatureDigestRFC4754SHA1,
            .ecdsaSignatureDigestRFC4754SHA224, .ecdsaSignatureDigestRFC4754SHA256, .ecdsaSignatureDigestRFC4754SHA384,
            .ecdsaSignatureDigestRFC4754SHA512),
        Family(
            "algid:sign:ECDSA:message-RFC4754:HASH", .ecdsaSignatureMessageRFC4754SHA1,
            .ecdsaSignatureMessageRFC4754SHA224, .ecdsaSignatureMessageRFC4754SHA256,
            .ecdsaSignatureMessageRFC4754SHA384, .ecdsaSignatureMessageRFC4754SHA512),
        Family(
            "algid:encrypt:RSA:OAEP:HASH", .rsaEncryptionOAEPSHA1, .rsaEncryptionOAEPSHA224, .rsaEncryptionOAEPSHA256,
            .rsaEncryptionOAEPSHA384, .rsaEncryptionOAEPSHA512),
        Family(
            "algid:encrypt:RSA:OAEP:HASH:AESGCM", .rsaEncryptionOAEPSHA1AESGCM, .rsaEncryptionOAEPSHA224AESGCM,
            .rsaEncryptionOAEPSHA256AESGCM, .rsaEncryptionOAEPSHA384AESGCM, .rsaEncryptionOAEPSHA512AESGCM),
        Family(
            "algid:encrypt:ECIES:ECDH:KDFX963:HASH:AESGCM", .eciesEncryptionStandardX963SHA1AESGCM,
            .eciesEncryptionStandardX963SHA224AESGCM, .eciesEncryptionStandardX963SHA256AESGCM,
            .eciesEncryptionStandardX963SHA384AESGCM, .eciesEncryptionStandardX963SHA512AESGCM),
        Family(
            "algid:encrypt:ECIES:ECDHC:KDFX963:HASH:AESGCM", .eciesEncryptionCofactorX963SHA1AESGCM,
            .eciesEncryptionCofactorX963SHA224AESGCM, .eciesEncryptionCofactorX963SHA256AESGCM,
            .eciesEncryptionCofactorX963SHA384AESGCM, .eciesEncryptionCofactorX963SHA512AESGCM),
        Family(
            "algid:encrypt:ECIES:ECDH:KDFX963:HASH:AESGCM-KDFIV", .eciesEncryptionStandardVariableIVX963SHA1AESGCM,
            .eciesEncryptionStandardVariableIVX963SHA224AESGCM, .eciesEncryptionStandardVariableIVX963SHA256AESGCM,
            .eciesEncryptionStandardVariableIVX963SHA384AESGCM, .eciesEncryptionStandardVariableIVX963SHA512AESGCM),
        Family(
            "algid:encrypt:ECIES:ECDHC:KDFX963:HASH:AESGCM-KDFIV", .eciesEncryptionCofactorVariableIVX963SHA1AESGCM,
            .eciesEncryptionCofactorVariableIVX963SHA224AESGCM, .eciesEncryptionCofactorVariableIVX963SHA256AESGCM,
            .eciesEncryptionCofactorVariableIVX963SHA384AESGCM, .eciesEncryptionCofactorVariableIVX963SHA512AESGCM),
        Family(
            "algid:keyexchange:ECDH:KDFX963:HASH", .ecdhKeyExchangeStandardX963SHA1,
            .ecdhKeyExchangeStandardX963SHA224, .ecdhKeyExchangeStandardX963SHA256,
            .ecdhKeyExchangeStandardX963SHA384, .ecdhKeyExchangeStandardX963SHA512),
        Family(
            "algid:keyexchange:ECDHC:KDFX963:HASH", .ecdhKeyExchangeCofactorX963SHA1,
            .ecdhKeyExchangeCofactorX963SHA224, .ecdhKeyExchangeCofactorX963SHA256,
            .ecdhKeyExchangeCofactorX963SHA384, .ecdhKeyExchangeCofactorX963SHA512),
    ]
}
