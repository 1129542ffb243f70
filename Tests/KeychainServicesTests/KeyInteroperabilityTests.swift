import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import KeychainServices

/// Interoperability with the `openssl` command.
@Suite struct KeyInteroperabilityTests {
    /// A directory with a key in the command's form.
    struct Peer {
        let directory: TemporaryDirectory
        let key: SecKey

        /// Writes the public half of a key, and the private one if it can be exported.
        init(_ kind: KeyKind, _ place: KeyPlace) throws {
            directory = try TemporaryDirectory()
            key = try KeyFixture.key(kind, place)
            try directory.write(Array(key.publicKey.pem.utf8), to: "public.pem")
            if case .memory(let key) = key.material {
                try directory.write(key.pkcs8PEM(passphrase: nil).copyBytes(), to: "private.pem")
            }
        }

        @discardableResult
        func openssl(_ arguments: String) throws -> RunResult {
            try run(
                "openssl", arguments.split(separator: " ").map(String.init), directory: directory.path)
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let algorithm: SecKeyAlgorithm
        let kind: KeyKind
        let options: String
        var testDescription: String { algorithm.rawValue as String }
        init(_ algorithm: SecKeyAlgorithm, _ kind: KeyKind, _ options: String) {
            (self.algorithm, self.kind, self.options) = (algorithm, kind, options)
        }
    }

    static let signatures = [
        Row(.rsaSignatureMessagePKCS1v15SHA1, .rsa2048, "digest:sha1"),
        Row(.rsaSignatureMessagePKCS1v15SHA224, .rsa2048, "digest:sha224"),
        Row(.rsaSignatureMessagePKCS1v15SHA512, .rsa2048, "digest:sha512"),
        Row(.rsaSignatureMessagePSSSHA1, .rsa2048, "digest:sha1 rsa_padding_mode:pss rsa_pss_saltlen:20"),
        Row(.rsaSignatureMessagePSSSHA224, .rsa2048, "digest:sha224 rsa_padding_mode:pss rsa_pss_saltlen:28"),
        Row(.rsaSignatureMessagePSSSHA256, .rsa2048, "digest:sha256 rsa_padding_mode:pss rsa_pss_saltlen:32"),
        Row(.rsaSignatureMessagePSSSHA384, .rsa2048, "digest:sha384 rsa_padding_mode:pss rsa_pss_saltlen:48"),
        Row(.rsaSignatureMessagePSSSHA512, .rsa2048, "digest:sha512 rsa_padding_mode:pss rsa_pss_saltlen:64"),
        Row(.ecdsaSignatureMessageX962SHA256, .p256, "digest:sha256"),
        Row(.ecdsaSignatureMessageX962SHA512, .p256, "digest:sha512"),
        Row(.ecdsaSignatureMessageX962SHA384, .p384, "digest:sha384"),
        Row(.ecdsaSignatureMessageX962SHA512, .p521, "digest:sha512"),
        Row(.eddsaSignatureMessageCurve25519SHA512, .ed25519, ""),
    ]

    @Test(arguments: signatures, KeyPlace.allCases)
    func `the command verifies signatures made here, and the other way round`(row: Row, place: KeyPlace) throws {
        let peer = try Peer(row.kind, place)
        let message = Data("a message for another party".utf8)
        let options = row.options.split(separator: " ").map { option in
            option.hasPrefix("digest:") ? "-digest \(option.dropFirst(7))" : "-pkeyopt \(option)"
        }.joined(separator: " ")
        try peer.directory.write(Array(message), to: "message")
        let signature = try #require(sign(peer.key, row.algorithm, message).value)
        try peer.directory.write(Array(signature), to: "signature")
        let command = "pkeyutl -rawin \(options)"
        let verified = try peer.openssl("\(command) -verify -pubin -inkey public.pem -in message -sigfile signature")
        #expect(verified.status == 0, "\(verified.stderr)")
        guard place == .memory else { return }
        let signed = try peer.openssl("\(command) -sign -inkey private.pem -in message -out theirs")
        try #require(signed.status == 0, "\(signed.stderr)")
        #expect(verify(peer.key, row.algorithm, message, Data(try peer.directory.read("theirs"))).value)
    }

    static let encryptions = [
        Row(.rsaEncryptionPKCS1, .rsa2048, "rsa_padding_mode:pkcs1"),
        Row(.rsaEncryptionOAEPSHA1, .rsa2048, "rsa_padding_mode:oaep"),
        Row(.rsaEncryptionOAEPSHA224, .rsa2048, "rsa_padding_mode:oaep rsa_oaep_md:sha224 rsa_mgf1_md:sha224"),
        Row(.rsaEncryptionOAEPSHA256, .rsa2048, "rsa_padding_mode:oaep rsa_oaep_md:sha256 rsa_mgf1_md:sha256"),
        Row(.rsaEncryptionOAEPSHA384, .rsa2048, "rsa_padding_mode:oaep rsa_oaep_md:sha384 rsa_mgf1_md:sha384"),
        Row(.rsaEncryptionOAEPSHA512, .rsa2048, "rsa_padding_mode:oaep rsa_oaep_md:sha512 rsa_mgf1_md:sha512"),
    ]

    @Test(arguments: encryptions, KeyPlace.allCases)
    func `the command decrypts what is encrypted here, and the other way round`(row: Row, place: KeyPlace) throws {
        let peer = try Peer(row.kind, place)
        let options = row.options.split(separator: " ").map { "-pkeyopt \($0)" }.joined(separator: " ")
        try peer.directory.write(Array("a secret".utf8), to: "message")
        let sealed = try peer.openssl("pkeyutl -encrypt -pubin -inkey public.pem \(options) -in message -out sealed")
        try #require(sealed.status == 0, "\(sealed.stderr)")
        let theirs = Data(try peer.directory.read("sealed"))
        #expect(decrypt(peer.key, row.algorithm, theirs).value == Data("a secret".utf8))
        guard place == .memory, let publicKey = SecKeyCopyPublicKey(peer.key) else { return }
        let ours = try #require(encrypt(publicKey, row.algorithm, Data("a secret".utf8)).value)
        try peer.directory.write(Array(ours), to: "ours")
        let opened = try peer.openssl("pkeyutl -decrypt -inkey private.pem \(options) -in ours")
        #expect(opened.output == Array("a secret".utf8), "\(opened.stderr)")
    }

    @Test(arguments: [KeyKind.p256, .p384, .p521], KeyPlace.allCases)
    func `the command agrees on the same secret`(kind: KeyKind, place: KeyPlace) throws {
        let peer = try Peer(kind, place)
        let other = try PrivateKey.generate(peer.key.publicKey.algorithm)
        try peer.directory.write(other.pkcs8PEM(passphrase: nil).copyBytes(), to: "other.pem")
        let derived = try peer.openssl("pkeyutl -derive -inkey other.pem -peerkey public.pem")
        try #require(derived.status == 0, "\(derived.stderr)")
        let secret = agree(peer.key, .ecdhKeyExchangeStandard, SecKey(.public(other.publicKey))).value
        #expect(secret == Data(derived.output))
    }

    /// Apple's ECIES, built from the command's parts: agreement, X9.63, and AES in counter mode.
    ///
    /// The counter of GCM starts at GHASH of the nonce, because the nonce does not have twelve bytes (SP 800-38D
    /// section 7.1).
    @Test(
        arguments: [
            (SecKeyAlgorithm.eciesEncryptionStandardX963SHA256AESGCM, KeyKind.p256, "SHA256", 16, false),
            (.eciesEncryptionCofactorVariableIVX963SHA256AESGCM, .p256, "SHA256", 16, true),
            (.eciesEncryptionStandardVariableIVX963SHA512AESGCM, .p384, "SHA512", 32, true),
            (.eciesEncryptionCofactorX963SHA1AESGCM, .p521, "SHA1", 32, false),
        ])
    func `the command decrypts Apple's ECIES`(
        row: (algorithm: SecKeyAlgorithm, kind: KeyKind, digest: String, keyCount: Int, derivesNonce: Bool)
    ) throws {
        let peer = try Peer(row.kind, .memory)
        let message = Array("a message of more than one block of sixteen bytes".utf8)
        let publicKey = try #require(SecKeyCopyPublicKey(peer.key))
        let box = [UInt8](try #require(encrypt(publicKey, row.algorithm, Data(message)).value))
        let size = 2 * SecKeyGetBlockSize(publicKey) + 1
        #expect(box.count == size + message.count + 16)
        let ephemeral = Array(box[..<size])
        guard case .ec(let curve) = publicKey.publicKey.algorithm else { return }
        let ephemeralPEM = try PublicKey(ecPoint: Data(ephemeral), curve: curve).pem
        try peer.directory.write(Array(ephemeralPEM.utf8), to: "ephemeral.pem")
        let secret = try peer.openssl("pkeyutl -derive -inkey private.pem -peerkey ephemeral.pem").output
        let keyAndNonce = try peer.openssl(
            "kdf -keylen \(row.keyCount + (row.derivesNonce ? 16 : 0)) -binary -kdfopt digest:\(row.digest) "
                + "-kdfopt hexsecret:\(hex(secret)) -kdfopt hexinfo:\(hex(ephemeral)) X963KDF"
        ).output
        let key = Array(keyAndNonce.prefix(row.keyCount))
        let nonce = row.derivesNonce ? Array(keyAndNonce.suffix(16)) : [UInt8](repeating: 0, count: 16)
        let name = "enc -aes-\(8 * row.keyCount)"
        try peer.directory.write([UInt8](repeating: 0, count: 16), to: "zeros")
        let hashKey = try peer.openssl("\(name)-ecb -nopad -K \(hex(key)) -in zeros").output
        var counter = multiply(nonce, hashKey)
        counter[15] ^= 128
        counter = multiply(counter, hashKey)
        // The first counter block is for the tag.
        let low = counter[12...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } &+ 1
        counter[12...] = (0..<4).map { UInt8(truncatingIfNeeded: low >> (24 - 8 * UInt32($0))) }[...]
        try peer.directory.write(Array(box[size...].dropLast(16)), to: "sealed")
        let opened = try peer.openssl("\(name)-ctr -K \(hex(key)) -iv \(hex(counter)) -in sealed").output
        #expect(opened == message)
    }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// The product of two blocks in the field of GHASH (SP 800-38D section 6.3).
    private func multiply(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        var product = [UInt8](repeating: 0, count: 16)
        var factor = right
        for bit in 0..<128 {
            if left[bit / 8] & (0x80 >> UInt8(bit % 8)) != 0 { for index in 0..<16 { product[index] ^= factor[index] } }
            let isOdd = factor[15] & 1 == 1
            for index in stride(from: 15, through: 0, by: -1) {
                factor[index] = factor[index] >> 1 | (index > 0 ? factor[index - 1] << 7 : 0)
            }
            if isOdd { factor[0] ^= 0xE1 }
        }
        return product
    }
}
