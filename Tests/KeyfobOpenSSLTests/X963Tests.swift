import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

@Suite struct X963Tests {
    struct Vector: Sendable {
        let digest: Digest
        let secret: String
        let info: String
        let key: String
    }

    /// NIST's CAVP vectors (ANSX963_2001).
    static let vectors = [
        Vector(
            digest: .sha1, secret: "1c7d7b5f0597b03d06a018466ed1a93e30ed4b04dc64ccdd", info: "",
            key: "bf71dffd8f4d99223936beb46fee8ccc"),
        Vector(
            digest: .sha256, secret: "96c05619d56c328ab95fe84b18264b08725b85e33fd34f08", info: "",
            key: "443024c3dae66b95e6f5670601558f71"),
        Vector(
            digest: .sha256, secret: "22518b10e70f2a3f243810ae3254139efbee04aa57c7af7d",
            info: "75eef81aa3041e33b80971203d2c0c52",
            key: """
                c498af77161cc59f2962b9a713e2b215152d139766ce34a776df11866a69bf2e52a13d9c7c6fc878c50c5ea0bc7b00e0\
                da2447cfd874f6cf92f30d0097111485500c90c3af8b487872d04685d14c8d1dc8d7fa08beb0ce0ababc11f0bd496269\
                142d43525a78e5bc79a17f59676a5706dc54d54d4d1f0bd7e386128ec26afc21
                """),
    ]

    @Test(arguments: vectors)
    func `X9.63 gives the results of NIST's vectors`(vector: Vector) throws {
        let key = try X963KDF.derive(
            secret: SecretBytes(bytes(vector.secret)), sharedInfo: bytes(vector.info),
            count: vector.key.count / 2, digest: vector.digest)
        #expect(key.copyBytes() == bytes(vector.key))
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
