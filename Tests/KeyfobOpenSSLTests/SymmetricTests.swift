import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

@Suite("Symmetric cryptography")
struct SymmetricTests {
    /// NIST CAVP / McGrew and Viega test cases for AES-256-GCM.
    struct GCMVector: Sendable {
        let key, nonce, additional, plaintext, ciphertext, tag: String
    }

    static let gcm = [
        GCMVector(
            key: String(repeating: "00", count: 32), nonce: String(repeating: "00", count: 12), additional: "",
            plaintext: "", ciphertext: "", tag: "530f8afbc74536b9a963b4f1c4cb738b"),
        GCMVector(
            key: String(repeating: "00", count: 32), nonce: String(repeating: "00", count: 12), additional: "",
            plaintext: String(repeating: "00", count: 16), ciphertext: "cea7403d4d606b6e074ec5d3baf39d18",
            tag: "d0d1c8a799996bf0265b98b5d48ab919"),
        GCMVector(
            key: "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
            nonce: "cafebabefacedbaddecaf888", additional: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
            plaintext: "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
            ciphertext: "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
                + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
            tag: "76fc6ece0f4e1768cddf8853bb2d551b"),
        GCMVector(
            key: "feffe9928665731c6d6a8f9467308308", nonce: "cafebabefacedbaddecaf888",
            additional: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
            plaintext: "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
            ciphertext: "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
                + "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
            tag: "5bc94fbc3221a5db94fae95ae7121a47"),
    ]

    @Test("AES-GCM gives the published results and opens its own output", arguments: gcm)
    func gcmVectors(_ vector: GCMVector) throws {
        let cipher = try AESGCM(key: SecretBytes(bytes(vector.key)))
        // Twice, so that the second round reuses a context.
        for _ in 0..<2 {
            let sealed = try cipher.seal(
                bytes(vector.plaintext), nonce: bytes(vector.nonce), additionalData: bytes(vector.additional))
            #expect(sealed.ciphertext == bytes(vector.ciphertext))
            #expect(sealed.tag == bytes(vector.tag))
            let opened = try cipher.open(
                ciphertext: sealed.ciphertext, tag: sealed.tag, nonce: bytes(vector.nonce),
                additionalData: bytes(vector.additional))
            #expect(opened.copyBytes() == bytes(vector.plaintext))
            let plain = try cipher.openBytes(
                ciphertext: sealed.ciphertext, tag: sealed.tag, nonce: bytes(vector.nonce),
                additionalData: bytes(vector.additional))
            #expect(plain == bytes(vector.plaintext))
        }
    }

    @Test("AES-GCM refuses a change in any part, and works again after it")
    func gcmRefusesChanges() throws {
        let key = try RandomBytes.secret(count: 32)
        let cipher = try AESGCM(key: key)
        let nonce = try RandomBytes.bytes(count: 12)
        let secret = SecretBytes(utf8: "correct horse battery staple")
        let sealed = try cipher.seal(secret, nonce: nonce, additionalData: [1, 2, 3])
        func open(
            ciphertext: [UInt8]? = nil, tag: [UInt8]? = nil, nonce other: [UInt8]? = nil,
            additionalData: [UInt8] = [1, 2, 3],
            key otherKey: SecretBytes? = nil
        ) throws -> SecretBytes {
            try AESGCM.open(
                ciphertext: ciphertext ?? sealed.ciphertext, tag: tag ?? sealed.tag, nonce: other ?? nonce,
                additionalData: additionalData, key: otherKey ?? key)
        }
        func flipped(_ bytes: [UInt8], at index: Int) -> [UInt8] {
            var bytes = bytes
            bytes[index] ^= 1
            return bytes
        }
        #expect(try open() == secret)
        let refusals: [() throws -> SecretBytes] = [
            { try open(ciphertext: flipped(sealed.ciphertext, at: 0)) },
            { try open(ciphertext: sealed.ciphertext.dropLast()) },
            { try open(tag: flipped(sealed.tag, at: 15)) },
            { try open(tag: sealed.tag.dropLast()) },
            { try open(nonce: flipped(nonce, at: 11)) },
            { try open(additionalData: []) },
            { try open(key: RandomBytes.secret(count: 32)) },
        ]
        for refusal in refusals {
            #expect(cryptoCode { _ = try refusal() } == .authenticationFailed)
        }
        for _ in 0..<3 {
            #expect(cryptoCode {
                _ = try cipher.open(
                    ciphertext: sealed.ciphertext, tag: flipped(sealed.tag, at: 1), nonce: nonce,
                    additionalData: [1, 2, 3])
            } == .authenticationFailed)
            #expect(try cipher.open(
                ciphertext: sealed.ciphertext, tag: sealed.tag, nonce: nonce, additionalData: [1, 2, 3]) == secret)
        }
    }

    @Test("AES-GCM refuses keys and nonces of a wrong length")
    func gcmLengths() throws {
        #expect(cryptoCode { _ = try AESGCM(key: SecretBytes([1, 2, 3])) } == .invalidKeyLength)
        let cipher = try AESGCM(key: RandomBytes.secret(count: 16))
        #expect(cryptoCode { _ = try cipher.seal([1], nonce: [1], additionalData: []) } == .invalidNonceLength)
    }

    @Test("Many tasks can use one AES-GCM value at once")
    func gcmConcurrent() async throws {
        let cipher = try AESGCM(key: RandomBytes.secret(count: 32))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<16 {
                group.addTask {
                    for round in 0..<200 {
                        let nonce = try RandomBytes.bytes(count: 12)
                        let text = [UInt8]("task \(task), round \(round)".utf8)
                        let sealed = try cipher.seal(text, nonce: nonce, additionalData: [UInt8(task)])
                        let opened = try cipher.openBytes(
                            ciphertext: sealed.ciphertext, tag: sealed.tag, nonce: nonce, additionalData: [UInt8(task)])
                        #expect(opened == text)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("HKDF gives the results of RFC 5869", arguments: [
        ("0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
         "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"),
        ("0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "", "",
         "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"),
        (hexadecimal(0...0x4f), hexadecimal(0x60...0xaf), hexadecimal(0xb0...0xff),
         "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09"
            + "da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87"),
    ])
    func hkdf(_ key: String, _ salt: String, _ info: String, _ expected: String) throws {
        let derived = try HKDF.derive(
            key: SecretBytes(bytes(key)), salt: bytes(salt), info: bytes(info), count: expected.count / 2)
        #expect(derived.copyBytes() == bytes(expected))
    }

    private static func hexadecimal(_ bytes: ClosedRange<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @Test("HKDF gives the longest output that the RFC allows, as openssl does", arguments: [1, 31, 32, 33, 255 * 32])
    func hkdfLengths(_ count: Int) throws {
        let made = try HKDF.derive(key: SecretBytes([1, 2, 3]), salt: [], info: [9], count: count)
        let openssl = try OpenSSLCommand()
        let options = "-kdfopt digest:SHA256 -kdfopt hexkey:010203 -kdfopt hexinfo:09"
        let text = try openssl("kdf -keylen \(count) \(options) HKDF").stdout
        let expected = text.split { $0 == ":" || $0.isWhitespace }.compactMap { UInt8($0, radix: 16) }
        #expect(expected.count == count)
        #expect(made.copyBytes() == expected)
    }

    @Test("HKDF refuses what RFC 5869 does not define", arguments: [0, -1, 255 * 32 + 1])
    func hkdfLimits(_ count: Int) {
        #expect(cryptoCode {
            _ = try HKDF.derive(key: SecretBytes([1]), salt: [], info: [], count: count)
        } == .invalidInput)
    }

    @Test("scrypt gives the results of RFC 7914", arguments: [
        ("", "", 16, 1, 1,
         "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442fcd0069ded0948f8326a753a0fc81f17"
             + "e8d3e0fb2e0d3628cf35e20c38d18906"),
        ("password", "NaCl", 1024, 8, 16,
         "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff109279d9830da"
             + "c727afb94a83ee6d8360cbdfa2cc0640"),
    ])
    func scrypt(_ passphrase: String, _ salt: String, _ n: Int, _ r: Int, _ p: Int, _ expected: String) throws {
        let derived = try Scrypt.derive(
            passphrase: SecretBytes(utf8: passphrase), salt: [UInt8](salt.utf8), n: n, r: r, p: p, count: 64)
        #expect(derived.copyBytes() == bytes(expected))
    }

    @Test("scrypt refuses a cost that is not a power of two, and parameters that need too much memory", arguments: [
        (0, 8, 1), (1, 8, 1), (3, 8, 1), (-16, 8, 1), (1 << 24, 8, 1), (1 << 40, 8, 1), (16, 0, 1), (16, 1, 0),
        (16, Int.max, 1), (16, 1, Int.max),
    ])
    func scryptLimits(_ n: Int, _ r: Int, _ p: Int) {
        #expect(cryptoCode {
            _ = try Scrypt.derive(passphrase: SecretBytes([1]), salt: [1], n: n, r: r, p: p, count: 32)
        } == .invalidInput)
    }

    @Test("AES key wrap gives the results of RFC 3394 and unwraps them", arguments: [
        ("000102030405060708090A0B0C0D0E0F", "00112233445566778899AABBCCDDEEFF",
         "1FA68B0A8112B447AEF34BD8FB5A7B829D3E862371D2CFE5"),
        ("000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F",
         "00112233445566778899AABBCCDDEEFF000102030405060708090A0B0C0D0E0F",
         "28C9F404C4B810F4CBCCB35CFB87F8263F5786E2D80ED326CBC7F0E71A99F43BFB988B9B7A02DD21"),
    ])
    func keyWrap(_ key: String, _ secret: String, _ expected: String) throws {
        let wrapped = try AESKeyWrap.wrap(SecretBytes(bytes(secret)), key: SecretBytes(bytes(key)))
        #expect(wrapped == bytes(expected))
        #expect(try AESKeyWrap.unwrap(wrapped, key: SecretBytes(bytes(key))).copyBytes() == bytes(secret))
        var changed = wrapped
        changed[9] ^= 0x80
        #expect(cryptoCode {
            _ = try AESKeyWrap.unwrap(changed, key: SecretBytes(bytes(key)))
        } == .authenticationFailed)
        #expect(cryptoCode {
            _ = try AESKeyWrap.unwrap(wrapped, key: RandomBytes.secret(count: 32))
        } == .authenticationFailed)
        #expect(cryptoCode {
            _ = try AESKeyWrap.unwrap(wrapped.dropLast(), key: SecretBytes(bytes(key)))
        } == .invalidInput)
        #expect(cryptoCode {
            _ = try AESKeyWrap.wrap(SecretBytes([1, 2, 3]), key: SecretBytes(bytes(key)))
        } == .invalidInput)
    }

    @Test("AES key wrap with padding gives the results of RFC 5649 and unwraps them", arguments: [
        ("c37b7e6492584340bed12207808941155068f738",
         "138bdeaa9b8fa7fc61f97742e72248ee5ae6ae5360d1ae6a5f54f373fa543b6a"),
        ("466f7250617369", "afbeb0f07dfbf5419200f2ccb50bb24f"),
    ])
    func paddedKeyWrap(_ secret: String, _ expected: String) throws {
        let key = SecretBytes(bytes("5840df6e29b02af1ab493b705bf16ea1ae8338f4dcc176a8"))
        let wrapped = try AESKeyWrap.wrapPadded(SecretBytes(bytes(secret)), key: key)
        #expect(wrapped == bytes(expected))
        #expect(try AESKeyWrap.unwrapPadded(wrapped, key: key).copyBytes() == bytes(secret))
        for index in wrapped.indices {
            var changed = wrapped
            changed[index] ^= 1
            #expect(cryptoCode { _ = try AESKeyWrap.unwrapPadded(changed, key: key) } == .authenticationFailed)
        }
        #expect(cryptoCode {
            _ = try AESKeyWrap.unwrapPadded(wrapped, key: RandomBytes.secret(count: 32))
        } == .authenticationFailed)
        #expect(cryptoCode { _ = try AESKeyWrap.unwrapPadded(wrapped.dropLast(), key: key) } == .invalidInput)
        #expect(cryptoCode { _ = try AESKeyWrap.unwrapPadded([], key: key) } == .invalidInput)
        #expect(cryptoCode { _ = try AESKeyWrap.wrapPadded(SecretBytes([]), key: key) } == .invalidInput)
        #expect(cryptoCode {
            _ = try AESKeyWrap.wrapPadded(SecretBytes([1]), key: SecretBytes([1]))
        } == .invalidKeyLength)
    }

    @Test("AES-256 key wrap with padding keeps secrets of every length", arguments: 1...33)
    func paddedKeyWrapLengths(_ count: Int) throws {
        let key = try RandomBytes.secret(count: 32)
        let secret = try RandomBytes.secret(count: count)
        #expect(try AESKeyWrap.unwrapPadded(AESKeyWrap.wrapPadded(secret, key: key), key: key) == secret)
    }

    @Test("HMAC-SHA-256 gives the results of RFC 4231", arguments: [
        (String(repeating: "0b", count: 20), "4869205468657265",
         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
        ("4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        ("", "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
        (String(repeating: "aa", count: 131),
         "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579204669727374",
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"),
    ])
    func hmac(_ key: String, _ message: String, _ expected: String) throws {
        let hmac = try HMACSHA256(key: SecretBytes(bytes(key)))
        for _ in 0..<3 {
            #expect(try hmac.authenticationCode(for: bytes(message)) == bytes(expected))
            #expect(try hmac.authenticationCode(for: Data(bytes(message))) == bytes(expected))
        }
        #expect(try hmac.isValid(bytes(expected), for: bytes(message)))
        #expect(try !hmac.isValid(bytes(expected), for: bytes(message) + [0]))
    }

    @Test("Digests give the results of FIPS 180", arguments: [
        (Digest.sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (Digest.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (Digest.sha384,
         "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"),
        (Digest.sha512,
         "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd"
             + "454d4423643ce80e2a9ac94fa54ca49f"),
    ])
    func digests(_ digest: Digest, _ expected: String) {
        #expect(digest([UInt8]("abc".utf8)) == Data(bytes(expected)))
        #expect(digest(SecretBytes(utf8: "abc")) == Data(bytes(expected)))
        #expect(digest.count == expected.count / 2)
    }

    @Test("Random bytes have the requested length and differ")
    func random() throws {
        #expect(try RandomBytes.bytes(count: 0).isEmpty)
        #expect(try RandomBytes.bytes(count: 33).count == 33)
        #expect(try RandomBytes.secret(count: 32) != RandomBytes.secret(count: 32))
    }

    @Test("Constant-time comparison distinguishes equal from different")
    func comparison() {
        #expect(constantTimeEqual([UInt8](), [UInt8]()))
        #expect(constantTimeEqual([1, 2] as [UInt8], Data([1, 2])))
        #expect(!constantTimeEqual([1, 2] as [UInt8], [1, 3] as [UInt8]))
        #expect(!constantTimeEqual([1, 2] as [UInt8], [1] as [UInt8]))
    }
}
