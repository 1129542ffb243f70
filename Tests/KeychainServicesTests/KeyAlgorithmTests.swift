import Foundation
import KeyfobOpenSSL
import Testing

@testable import KeychainServices

/// Every algorithm of the table, with keys in memory and on a token.
@Suite struct KeyAlgorithmTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let identifier: String
        let kind: KeyKind
        let place: KeyPlace
        var algorithm: SecKeyAlgorithm { SecKeyAlgorithm(rawValue: identifier as CFString) }
        var testDescription: String { "\(identifier), \(kind) in \(place)" }
    }

    /// One curve for each row, or all three if the format depends on the curve.
    static func rows(_ isWanted: (KeyScheme) -> Bool) -> [Row] {
        KeyScheme.table.filter { isWanted($0.value) }.sorted { $0.key < $1.key }.flatMap { identifier, scheme in
            let kinds: [KeyKind] =
                if identifier.contains(":RSA") { [.rsa2048] } else if identifier.contains("EdDSA") { [.ed25519] } else if case .ecies = scheme { [.p256, .p384, .p521] } else { [.p256, .p521] }
            return kinds.flatMap { kind in
                KeyPlace.allCases.map { Row(identifier: identifier, kind: kind, place: $0) }
            }
        }
    }

    static let signatures = rows { if case .signature = $0 { true } else { false } }
    static let encryptions = rows {
        switch $0 {
        case .encryption, .wrapped, .ecies: true
        default: false
        }
    }
    static let exchanges = rows { if case .exchange = $0 { true } else { false } }

    @Test(arguments: signatures)
    func `the public half verifies signatures of its key, and no others`(row: Row) throws {
        let key = try KeyFixture.key(row.kind, row.place)
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        guard case .signature(let scheme, let input, let form) = try #require(KeyScheme(row.algorithm)) else { return }
        let message = Data("a message".utf8)
        let data = input == .message ? message : scheme.digest.map { $0(message) } ?? Digest.sha256(message)
        let signature = try #require(sign(key, row.algorithm, data).value)
        for key in [publicKey, key] {
            #expect(SecKeyIsAlgorithmSupported(key, .verify, row.algorithm))
            #expect(verify(key, row.algorithm, data, signature) == Outcome(value: true, status: nil))
        }
        if form == .rfc4754 { #expect(signature.count == 2 * SecKeyGetBlockSize(key)) }
        if row.kind == .rsa2048 { #expect(signature.count == SecKeyGetBlockSize(key)) }
        var changed = signature
        changed[changed.count - 1] ^= 1
        var otherData = data
        otherData[0] ^= 1
        let wrong: [(Data, Data)] = [
            (data, changed), (otherData, signature), (data, Data()), (data, signature.dropLast()), (data, signature + [0]),
        ]
        for (data, signature) in wrong {
            #expect(
                verify(publicKey, row.algorithm, data, signature) == Outcome(value: false, status: errSecVerifyFailed))
        }
        // A public key cannot sign, and a digest has a fixed length.
        let refusal = Outcome<Data?>(value: nil, status: errSecParam)
        #expect(sign(publicKey, row.algorithm, data) == refusal)
        if input == .digest, scheme.digest != nil { #expect(sign(key, row.algorithm, data.dropLast()) == refusal) }
    }

    @Test(arguments: encryptions)
    func `the private half decrypts what the public half encrypts`(row: Row) throws {
        let key = try KeyFixture.key(row.kind, row.place)
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        let isRaw = row.algorithm == .rsaEncryptionRaw
        #expect(SecKeyIsAlgorithmSupported(publicKey, .encrypt, row.algorithm))
        #expect(SecKeyIsAlgorithmSupported(key, .decrypt, row.algorithm))
        #expect(SecKeyIsAlgorithmSupported(publicKey, .decrypt, row.algorithm) == isRaw)
        #expect(SecKeyIsAlgorithmSupported(key, .encrypt, row.algorithm) == false)
        let refusal = Outcome<Data?>(value: nil, status: errSecParam)
        for message in [Data("a message".utf8), Data()] where !(isRaw && message.isEmpty) {
            let sealed = try #require(encrypt(publicKey, row.algorithm, message).value)
            let opened = try #require(decrypt(key, row.algorithm, sealed).value)
            #expect(isRaw ? opened.suffix(message.count) == message && opened.count == 256 : opened == message)
            guard !isRaw else { continue }
            // A random RSA ciphertext is valid PKCS#1 once in some hundred thousand times.
            for position in [0, sealed.count / 2, sealed.count - 1] where row.algorithm != .rsaEncryptionPKCS1 {
                var changed = sealed
                changed[position] ^= 1
                #expect(decrypt(key, row.algorithm, changed) == refusal, "byte \(position)")
            }
            if row.algorithm != .rsaEncryptionPKCS1 {
                #expect(decrypt(key, row.algorithm, sealed.dropLast()) == refusal)
            }
        }
        if !isRaw { #expect(decrypt(key, row.algorithm, Data()) == refusal) }
        #expect(encrypt(key, row.algorithm, Data([1])) == refusal)
        if row.kind == .rsa2048, !row.identifier.hasSuffix("AESGCM") {
            #expect(encrypt(publicKey, row.algorithm, Data(repeating: 0xFF, count: 257)) == refusal)
            #expect(decrypt(key, row.algorithm, Data(repeating: 0xFF, count: 257)) == refusal)
        }
    }

    @Test(arguments: exchanges)
    func `two keys agree on a secret from either side`(row: Row) throws {
        let key = try KeyFixture.key(row.kind, row.place)
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        let peer = try #require(generate(row.kind.parameters).value)
        let peersPublicKey = try #require(SecKeyCopyPublicKey(peer))
        let size = SecKeyKeyExchangeParameter.requestedSize.rawValue
        let info = SecKeyKeyExchangeParameter.sharedInfo.rawValue
        let parameters: NSDictionary = [size: 40, info: Data("info".utf8)]
        let secret = try #require(agree(key, row.algorithm, peersPublicKey, parameters).value)
        #expect(secret == agree(peer, row.algorithm, publicKey, parameters).value)
        let derives = row.identifier.contains("KDF")
        #expect(secret.count == (derives ? 40 : SecKeyGetBlockSize(key)))
        let refusal = Outcome<Data?>(value: nil, status: errSecParam)
        let stranger = try #require(SecKeyCopyPublicKey(KeyFixture.key(.p384, .memory)))
        #expect(agree(key, row.algorithm, stranger, parameters) == refusal)
        #expect(agree(key, row.algorithm, peer, parameters) == refusal)
        guard derives else { return }
        #expect(agree(key, row.algorithm, peersPublicKey, [size: 40]).value != secret)
        let bad: [NSDictionary] = [
            [:], [size: "40"], [size: 0], [size: -1], [size: 1 << 40], [size: 40, info: "info"], [size: NSNull()],
        ]
        for parameters in bad { #expect(agree(key, row.algorithm, peersPublicKey, parameters) == refusal) }
    }

    @Test func `every named algorithm is in the table, except Ed448`() {
        let named: [SecKeyAlgorithm] = [
            .rsaSignatureRaw, .rsaSignatureDigestPKCS1v15Raw, .rsaSignatureDigestPKCS1v15SHA1,
            .rsaSignatureDigestPKCS1v15SHA224, .rsaSignatureMessagePKCS1v15SHA512, .rsaSignatureDigestPSSSHA224,
            .rsaSignatureMessagePSSSHA1, .ecdsaSignatureRFC4754, .ecdsaSignatureDigestX962,
            .ecdsaSignatureMessageX962SHA384, .ecdsaSignatureDigestRFC4754, .ecdsaSignatureMessageRFC4754SHA256,
            .eddsaSignatureMessageCurve25519SHA512, .rsaEncryptionRaw, .rsaEncryptionPKCS1, .rsaEncryptionOAEPSHA256,
            .rsaEncryptionOAEPSHA512AESGCM, .eciesEncryptionStandardX963SHA1AESGCM,
            .eciesEncryptionCofactorX963SHA512AESGCM, .eciesEncryptionStandardVariableIVX963SHA224AESGCM,
            .eciesEncryptionCofactorVariableIVX963SHA1AESGCM, .eciesEncryptionCofactorVariableIVX963SHA256AESGCM,
            .ecdhKeyExchangeStandard,
            .ecdhKeyExchangeCofactorX963SHA384,
        ]
        for algorithm in named { #expect(KeyScheme(algorithm) != nil, "\(algorithm.rawValue)") }
        #expect(KeyScheme(.eddsaSignatureMessageCurve448SHAKE256) == nil)
        #expect(KeyScheme.table.count == 5 + 1 + 2 + 5 * 8 + 5 * 2 + 2 * (1 + 5 + 5 + 5))
    }

    @Test func `a key supports only the algorithms of its kind and its half`() throws {
        let rsa = try KeyFixture.key(.rsa2048, .memory)
        let ec = try KeyFixture.key(.p256, .token)
        #expect(SecKeyIsAlgorithmSupported(rsa, .sign, .rsaSignatureMessagePSSSHA256))
        #expect(!SecKeyIsAlgorithmSupported(rsa, .sign, .ecdsaSignatureMessageX962SHA256))
        #expect(!SecKeyIsAlgorithmSupported(ec, .sign, .rsaSignatureMessagePSSSHA256))
        #expect(!SecKeyIsAlgorithmSupported(ec, .keyExchange, .ecdsaSignatureMessageX962SHA256))
        #expect(!SecKeyIsAlgorithmSupported(ec, .sign, SecKeyAlgorithm(rawValue: "algid:sign:none")))
        #expect(
            sign(ec, .rsaSignatureMessagePKCS1v15SHA256, Data()) == Outcome<Data?>(value: nil, status: errSecParam))
        let small = try #require(
            generate([kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeySizeInBits: 1024]).value)
        #expect(SecKeyIsAlgorithmSupported(small, .sign, .rsaSignatureMessagePSSSHA384))
        #expect(!SecKeyIsAlgorithmSupported(small, .sign, .rsaSignatureMessagePSSSHA512))
    }
}
