import Foundation
import KeyfobOpenSSL
import KeyfobPrimitives
import TestSupport
import Testing

/// The encrypted keys of the examples in RFC 7516 and RFC 7520; `Fixtures/README.md` names the sections.
@Suite struct JOSEKeyEncryptionTests {
    private func rows(_ algorithm: String) throws -> [FixtureRow] {
        let rows = try Fixtures.rows("Vectors/jose-key-encryption.tsv").filter { try $0["algorithm"] == algorithm }
        try #require(!rows.isEmpty)
        return rows
    }

    @Test func `RSA-OAEP decrypts the keys of RFC 7516 and RFC 7520`() throws {
        for row in try rows("RSA-OAEP") {
            let key = try PrivateKey.load(Data(row.bytes("key")))
            let (wrapped, secret) = (try row.bytes("wrapped"), try row.bytes("secret"))
            #expect(try key.decryptOAEP(wrapped, hash: .sha1).copyBytes() == secret, "\(row)")
            let block = try key.decrypt(wrapped, using: .rsaRaw)
            let opened = try RSAPadding.message(inDecrypted: block, using: .rsaOAEP(.sha1))
            #expect(opened.copyBytes() == secret, "\(row)")
        }
    }

    @Test func `ECDH-ES, the Concat KDF and AES key wrap open the key of RFC 7520`() throws {
        for row in try rows("ECDH-ES+A128KW") {
            let key = try PrivateKey.load(Data(row.bytes("key")))
            let shared = try key.sharedSecret(with: PublicKey(ecPoint: Data(row.bytes("ephemeral")), curve: .p384))
            // The algorithm, two empty party names, and the length of the key in bits.
            let otherInfo: [UInt8] = [0, 0, 0, 14] + Array("ECDH-ES+A128KW".utf8) + [UInt8](repeating: 0, count: 8)
                + [0, 0, 0, 128]
            let wrappingKey = try ConcatKDF.derive(secret: shared, otherInfo: otherInfo, count: 16)
            let opened = try AESKeyWrap.unwrap(row.bytes("wrapped"), key: wrappingKey)
            #expect(try opened.copyBytes() == row.bytes("secret"), "\(row)")
        }
    }

    @Test func `AES key wrap makes and opens the wrapped key of RFC 7516`() throws {
        for row in try rows("A128KW") {
            let key = SecretBytes(try row.bytes("key"))
            let (wrapped, secret) = (try row.bytes("wrapped"), try row.bytes("secret"))
            #expect(try AESKeyWrap.unwrap(wrapped, key: key).copyBytes() == secret, "\(row)")
            #expect(try AESKeyWrap.wrap(SecretBytes(secret), key: key) == wrapped, "\(row)")
        }
    }

    @Test func `AES-GCM opens the encrypted key of RFC 7520`() throws {
        for row in try rows("A256GCMKW") {
            let wrapped = try row.bytes("wrapped")
            let opened = try AESGCM(key: SecretBytes(row.bytes("key"))).open(
                ciphertext: Array(wrapped[12..<44]), tag: Array(wrapped[44...]), nonce: Array(wrapped[..<12]),
                additionalData: [])
            #expect(try opened.copyBytes() == row.bytes("secret"), "\(row)")
        }
    }
}
