import KeyfobOpenSSL
import KeyfobPrimitives
import Testing

@Suite struct ConcatKDFTests {
    @Test func `the Concat KDF gives the key of RFC 7518 appendix C`() throws {
        let secret: [UInt8] = [
            158, 86, 217, 29, 129, 113, 53, 211, 114, 131, 66, 131, 191, 132, 38, 156, 251, 49, 110, 163, 218, 128, 106,
            72, 246, 218, 167, 121, 140, 254, 144, 196,
        ]
        let otherInfo: [UInt8] = [0, 0, 0, 7] + Array("A128GCM".utf8) + [0, 0, 0, 5] + Array("Alice".utf8)
            + [0, 0, 0, 3] + Array("Bob".utf8) + [0, 0, 0, 128]
        let key = try ConcatKDF.derive(secret: SecretBytes(secret), otherInfo: otherInfo, count: 16)
        #expect(key.copyBytes() == [86, 170, 141, 234, 248, 35, 109, 32, 92, 34, 40, 205, 113, 167, 16, 26])
    }

    @Test func `the Concat KDF refuses an empty secret and an empty result`() {
        #expect(throws: CryptoError.self) { try ConcatKDF.derive(secret: SecretBytes([]), otherInfo: [], count: 16) }
        #expect(throws: CryptoError.self) { try ConcatKDF.derive(secret: SecretBytes([1]), otherInfo: [], count: 0) }
    }
}
