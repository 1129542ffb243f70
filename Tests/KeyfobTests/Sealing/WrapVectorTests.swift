import Foundation
import KeyfobOpenSSL
import KeyfobPrimitives
import PKCS11
import TestSupport
import Testing

@testable import KeyfobToken

/// Published vectors for the wrap suites, with their keys on SoftHSM; `Fixtures/README.md` names their origin.
@Suite struct WrapVectorTests {
    private let directory: TemporaryDirectory
    /// SoftHSM for this test alone: no other test initialises it again.
    private let module: FaultyModule
    private let token: TestToken

    init() throws {
        directory = try TemporaryDirectory()
        module = try FaultyModule(in: directory)
        token = try TestToken.make(label: "vectors").behind(module)
    }

    private func imported(_ key: PrivateKey, in session: borrowing Session) throws -> WrappingKey {
        let pair = try NewObject.pair(key, label: Array("vector".utf8), subject: nil, isExtractable: false)
        return WrappingKey(handle: try session.create(pair.privateKey.template), publicKey: key.publicKey)
    }

    private func importedAESKey(_ value: [UInt8], in session: borrowing Session) throws -> WrappingKey {
        let handle = try session.create([
            .objectClass(.secretKey), .keyType(.aes), .token(true), .isPrivate(true), .sensitive(true),
            .extractable(false), .encrypt(true), .decrypt(true), .wrap(true), .unwrap(true),
            .secretValue(SecretBytes(value)),
        ])
        return WrappingKey(handle: handle)
    }

    /// The error that `body` throws; `nil` if it throws none.
    private func refusal(_ body: () throws -> Void) -> (any Error)? {
        do {
            try body()
            return nil
        } catch { return error }
    }

    /// SoftHSM removes the padding with SHA-1. With SHA-256 it does raw RSA, and Keyfob removes the padding.
    @Test(arguments: ["SHA-1", "SHA-256"])
    func `RSA-OAEP opens the valid ciphertexts, and refuses each invalid padding with one error`(hash: String) throws {
        let session = try token.openSession()
        let keyRow = try #require(try Fixtures.rows("Wycheproof/rsa-oaep-keys.tsv").first { try $0["hash"] == hash })
        let key = try imported(PrivateKey.load(Data(keyRow.bytes("key"))), in: session)
        let suite = RSAOAEPKeyWrap(hash: hash == "SHA-1" ? .sha1 : .sha256)
        var refusals: Set<String> = []
        for row in try Fixtures.rows("Wycheproof/rsa-oaep.tsv") where try row["hash"] == hash {
            let ciphertext = try row.bytes("ciphertext")
            let isValid = try row["result"] == "valid" && row["label"].isEmpty
            // A session in which an operation has failed is closed.
            let fresh = try token.openSession()
            var opened: SecretBytes?
            let error = refusal { opened = try suite.unwrap(ciphertext, with: key, in: fresh) }
            #expect((error == nil) == isValid, "\(row): \(String(describing: error))")
            #expect(try opened?.copyBytes() == (isValid ? row.bytes("message") : nil), "\(row)")
            if let error, try row["flag"] != "InvalidCiphertext" { refusals.insert("\(error)") }
            if hash == "SHA-256", try row["flag"] == "InvalidOaepPadding" {
                #expect((error as? KeychainError)?.code == .vaultDamaged, "\(row)")
            }
        }
        #expect(refusals.count == 1, "\(refusals)")
    }

    @Test func `the padding with SHA-1 is removed from what the token computes by raw RSA`() throws {
        let session = try token.openSession()
        let keyRow = try #require(
            try Fixtures.rows("Wycheproof/rsa-oaep-keys.tsv").first { try $0["hash"] == "SHA-1" })
        let key = try imported(PrivateKey.load(Data(keyRow.bytes("key"))), in: session)
        for row in try Fixtures.rows("Wycheproof/rsa-oaep.tsv")
        where try row["hash"] == "SHA-1" && row["flag"] != "InvalidCiphertext" {
            let isValid = try row["result"] == "valid" && row["label"].isEmpty
            let block = try session.decryptSecret(
                row.bytes("ciphertext"), with: key.handle, using: Mechanism(.rsaX509))
            #expect(block.count == 256, "\(row)")
            var opened: SecretBytes?
            let error = refusal { opened = try RSAPadding.message(inDecrypted: block, using: .rsaOAEP(.sha1)) }
            #expect((error as? CryptoError)?.code == (isValid ? nil : .authenticationFailed), "\(row)")
            #expect(try opened?.copyBytes() == (isValid ? row.bytes("message") : nil), "\(row)")
        }
    }

    @Test func `the suites open the encrypted keys of RFC 7516 and RFC 7520`() throws {
        let session = try token.openSession()
        for row in try Fixtures.rows("Vectors/jose-key-encryption.tsv")
        where try row["algorithm"] != "ECDH-ES+A128KW" {
            let bytes = try row.bytes("key")
            let suite: any WrapSuite
            let key: WrappingKey
            switch try row["algorithm"] {
            case "RSA-OAEP":
                suite = RSAOAEPKeyWrap(hash: .sha1)
                key = try imported(PrivateKey.load(Data(bytes)), in: session)
            case "A256GCMKW":
                suite = AESGCMKeyWrap()
                key = try importedAESKey(bytes, in: session)
            default:
                // `A128KW`, which is the same with a shorter key.
                suite = AESKeyWrapSuite()
                key = try importedAESKey(bytes, in: session)
            }
            let opened = try suite.unwrap(row.bytes("wrapped"), with: key, in: session)
            #expect(try opened.copyBytes() == row.bytes("secret"), "\(row)")
        }
    }

    /// RFC 7520, section 5.7.
    @Test func `the members of a JWE with A256GCMKW are those of RFC 7520`() throws {
        let row = try #require(
            try Fixtures.rows("Vectors/jose-key-encryption.tsv").first { try $0["algorithm"] == "A256GCMKW" })
        let (header, encryptedKey) = AESGCMKeyWrap().members(of: try row.bytes("wrapped"))
        #expect(header.map(\.name) == ["iv", "tag"])
        #expect(header.map(\.value) == [.string("KkYT0GX_2jHlfqN_"), .string("kfPduVQ3T3H6vnewt--ksw")])
        #expect(Base64URL.encode(encryptedKey) == "lJf3HbOApxMEBkCMOoTnnABxs_CvTWUmZQ2ElLvYNok")
    }

    /// RFC 7520, section 5.4. Its key is on P-384.
    @Test func `a key on the token agrees on the key of RFC 7520 with ECDH-ES`() throws {
        let row = try #require(
            try Fixtures.rows("Vectors/jose-key-encryption.tsv").first { try $0["algorithm"] == "ECDH-ES+A128KW" })
        let session = try token.openSession()
        let key = try imported(PrivateKey.load(Data(row.bytes("key"))), in: session)
        let point = try row.bytes("ephemeral")
        let shared = try KeyAgreement.secret(
            of: key.handle, with: PublicKey(ecPoint: Data(point), curve: .p384), in: session)
        let otherInfo: [UInt8] = [0, 0, 0, 14] + Array("ECDH-ES+A128KW".utf8) + [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128]
        let wrappingKey = try ConcatKDF.derive(secret: shared, otherInfo: otherInfo, count: 16)
        let opened = try AESKeyWrap.unwrap(row.bytes("wrapped"), key: wrappingKey)
        #expect(try opened.copyBytes() == row.bytes("secret"))
        // The suite prints the ephemeral key as the RFC does.
        let (header, _) = ECDHKeyWrap().members(of: point + [UInt8](repeating: 0, count: 40))
        #expect(header.map(\.name) == ["epk"])
        #expect(header.map(\.value) == [
            .object([
                .init("kty", "EC"), .init("crv", "P-384"),
                .init("x", "uBo4kHPw6kbjx5l0xowrd_oYzBmaz-GKFZu4xAFFkbYiWgutEK6iuEDsQ6wNdNg3"),
                .init("y", "sp3p5SGhZVC2faXumI-e9JU2Mo8KpoYrFDr5yPNVtW4PgEwZOyQTA-JdaY8tb7E0"),
            ])
        ])
    }

    /// The private keys are on the token. The errors are those of the checks in front of it.
    @Test(arguments: ["P-256", "P-384", "P-521"])
    func `the token agrees on the published secrets, and no invalid point reaches it`(curveName: String) throws {
        let session = try token.openSession()
        // RFC 7518 section 4.6.2: the algorithm, two empty party names, and the length of the key in bits.
        let otherInfo: [UInt8] = [0, 0, 0, 14] + Array("ECDH-ES+A256KW".utf8) + [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]
        let content = try RandomBytes.secret(count: 32)
        var keys: [Data: WrappingKey] = [:]
        for row in try Fixtures.rows("Wycheproof/ecdh.tsv") where try row["curve"] == curveName {
            let der = Data(try row.bytes("private"))
            let key = try keys[der] ?? imported(PrivateKey.load(der), in: session)
            keys[der] = key
            guard case .ec(let curve) = try key.known.algorithm else {
                Issue.record("\(row) has no EC key")
                continue
            }
            let point = try row.bytes("public")
            func agree() throws -> SecretBytes {
                try KeyAgreement.secret(
                    of: key.handle, with: PublicKey(ecPoint: Data(point), curve: curve), in: session)
            }
            if try row["result"] == "invalid" {
                let direct = refusal { _ = try agree() }
                #expect((direct as? KeyFileError)?.code == .damaged, "\(row): \(String(describing: direct))")
                let error = refusal {
                    _ = try ECDHKeyWrap().unwrap(point + [UInt8](repeating: 0, count: 40), with: key, in: session)
                }
                #expect((error as? KeychainError)?.code == .vaultDamaged, "\(row): \(String(describing: error))")
            } else {
                let shared = try row.bytes("shared")
                let wrappingKey = try ConcatKDF.derive(
                    secret: SecretBytes(shared), otherInfo: otherInfo, count: 32)
                let wrapped = try AESKeyWrap.wrap(content, key: wrappingKey)
                var (agreed, opened): (SecretBytes?, SecretBytes?)
                let error = refusal {
                    agreed = try agree()
                    opened = try ECDHKeyWrap().unwrap(point + wrapped, with: key, in: session)
                }
                #expect(agreed?.copyBytes() == shared, "\(row): \(String(describing: error))")
                // No vault has a compressed ephemeral point, which the epk member of a JWE could not show.
                let isCompressed = point[0] != 4
                #expect(opened == (isCompressed ? nil : content), "\(row): \(String(describing: error))")
                #expect((error as? KeychainError)?.code == (isCompressed ? .vaultDamaged : nil), "\(row)")
            }
        }
    }
}
