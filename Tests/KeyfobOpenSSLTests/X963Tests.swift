import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

@Suite struct X963Tests {
    @Test func `X9.63 gives the results of NIST's vectors`() throws {
        for row in try Fixtures.rows("Vectors/x963-kdf.tsv") {
            let expected = try row.bytes("output")
            let name = try row["digest"]
            let digest = try #require([Digest.sha1, .sha256].first { "\($0)" == name })
            let key = try X963KDF.derive(
                secret: SecretBytes(row.bytes("secret")), sharedInfo: row.bytes("info"), count: expected.count,
                digest: digest)
            #expect(key.copyBytes() == expected, "\(row)")
        }
    }

    @Test(arguments: [Digest.sha1, .sha224, .sha256, .sha384, .sha512])
    func `X9.63 gives the same results as the openssl command`(digest: Digest) throws {
        let secret = try RandomBytes.bytes(count: 32)
        let info = try RandomBytes.bytes(count: 65)
        let hex = { (bytes: [UInt8]) in bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
        let openssl = try OpenSSLCommand()
        let result = try openssl(
            "kdf -keylen 77 -binary -kdfopt digest:\(digest) "
                + "-kdfopt hexsecret:\(hex(secret)) -kdfopt hexinfo:\(hex(info)) X963KDF")
        let key = try X963KDF.derive(secret: SecretBytes(secret), sharedInfo: info, count: 77, digest: digest)
        #expect(key.copyBytes() == result.output)
    }

    @Test(arguments: [0, -1, X963KDF.maximumCount + 1])
    func `X9.63 refuses lengths out of range`(count: Int) throws {
        #expect(throws: CryptoError.self) {
            try X963KDF.derive(secret: SecretBytes([1]), sharedInfo: [], count: count, digest: .sha256)
        }
    }
}
