import Foundation
import KeyfobOpenSSL
import KeyfobPrimitives
import TestSupport
import Testing

/// Vectors for RSA-OAEP and ECDH that are made to find errors of implementations; `Fixtures/README.md` names their
/// origin.
@Suite struct WycheproofKeyTests {
    /// A vector of RSA-OAEP, with its key.
    private struct Encryption {
        let row: FixtureRow
        let key: PrivateKey
        let hash: Digest
        let ciphertext: [UInt8]
        /// The message; `nil` if the ciphertext is invalid. A ciphertext with a label is, because labels are empty.
        let message: [UInt8]?
    }

    private func encryptions() throws -> [Encryption] {
        var keys: [String: PrivateKey] = [:]
        for row in try Fixtures.rows("Wycheproof/rsa-oaep-keys.tsv") {
            keys[try row["hash"]] = try PrivateKey.load(Data(row.bytes("key")))
        }
        return try Fixtures.rows("Wycheproof/rsa-oaep.tsv").map { row in
            let hash = try row["hash"]
            let isValid = try row["result"] == "valid" && row["label"].isEmpty
            return Encryption(
                row: row, key: try #require(keys[hash]), hash: hash == "SHA-1" ? .sha1 : .sha256,
                ciphertext: try row.bytes("ciphertext"), message: isValid ? try row.bytes("message") : nil)
        }
    }

    @Test func `RSA-OAEP opens the valid ciphertexts, and refuses all others`() throws {
        for vector in try encryptions() {
            var opened: SecretBytes?
            let refusal = cryptoCode {
                opened = try vector.key.decryptOAEP(vector.ciphertext, hash: vector.hash)
            }
            #expect(refusal == (vector.message == nil ? .authenticationFailed : nil), "\(vector.row)")
            #expect(opened?.copyBytes() == vector.message, "\(vector.row)")
        }
    }

    @Test func `the padding of a raw RSA result is removed, and all invalid ones give the same error`() throws {
        var refusals: Set<String> = []
        for vector in try encryptions() where try vector.row["flag"] != "InvalidCiphertext" {
            let block = try vector.key.decrypt(vector.ciphertext, using: .rsaRaw)
            #expect(block.count == 256, "\(vector.row)")
            do {
                let opened = try RSAPadding.message(inDecrypted: block, using: .rsaOAEP(vector.hash))
                #expect(opened.copyBytes() == vector.message, "\(vector.row)")
            } catch {
                #expect(vector.message == nil, "\(vector.row)")
                refusals.insert("\(error)")
            }
        }
        #expect(refusals.count == 1, "\(refusals)")
    }

    @Test func `raw RSA refuses numbers above the modulus, and a wrong length gives no valid padding`() throws {
        for vector in try encryptions() where try vector.row["flag"] == "InvalidCiphertext" {
            var block: SecretBytes?
            let refusal = cryptoCode { block = try vector.key.decrypt(vector.ciphertext, using: .rsaRaw) }
            // A shorter ciphertext is a number whose leading zeros are missing.
            let isShort = vector.ciphertext.count < 256
            #expect(refusal == (isShort ? nil : .authenticationFailed), "\(vector.row)")
            guard let block else { continue }
            #expect(cryptoCode {
                _ = try RSAPadding.message(inDecrypted: block, using: .rsaOAEP(vector.hash))
            } == .authenticationFailed, "\(vector.row)")
        }
    }

    @Test func `ECDH gives the published secrets, and refuses each point that is not on the curve`() throws {
        for row in try Fixtures.rows("Wycheproof/ecdh.tsv") {
            let key = try PrivateKey.load(Data(row.bytes("private")))
            guard case .ec(let curve) = key.publicKey.algorithm else {
                Issue.record("\(row) has no EC key")
                continue
            }
            #expect(try curve.description == row["curve"], "\(row)")
            let point = Data(try row.bytes("public"))
            let isValid = try row["result"] != "invalid"
            var secret: SecretBytes?
            let refusal = keyFileCode {
                let other = try PublicKey(ecPoint: point, curve: curve)
                try other.validate()
                secret = try key.sharedSecret(with: other)
            }
            #expect(refusal == (isValid ? nil : .damaged), "\(row)")
            #expect(try secret?.copyBytes() == (isValid ? row.bytes("shared") : nil), "\(row)")
        }
    }
}
