import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

@Suite("Symmetric cryptography")
struct SymmetricTests {
    @Test("AES-GCM gives the published results and opens its own output")
    func gcmVectors() throws {
        for row in try Fixtures.rows("Vectors/aes-gcm.tsv") {
            let (nonce, additional) = (try row.bytes("nonce"), try row.bytes("additional"))
            let (plaintext, ciphertext) = (try row.bytes("plaintext"), try row.bytes("ciphertext"))
            let tag = try row.bytes("tag")
            let cipher = try AESGCM(key: SecretBytes(row.bytes("key")))
            // Twice, so that the second round reuses a context.
            for _ in 0..<2 {
                let sealed = try cipher.seal(plaintext, nonce: nonce, additionalData: additional)
                #expect(sealed.ciphertext == ciphertext, "\(row)")
                #expect(sealed.tag == tag, "\(row)")
                let opened = try cipher.open(
                    ciphertext: sealed.ciphertext, tag: sealed.tag, nonce: nonce, additionalData: additional)
                #expect(opened.copyBytes() == plaintext, "\(row)")
                let plain = try cipher.openBytes(
                    ciphertext: sealed.ciphertext, tag: sealed.tag, nonce: nonce, additionalData: additional)
                #expect(plain == plaintext, "\(row)")
            }
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

    @Test("HKDF gives the results of RFC 5869")
    func hkdf() throws {
        for row in try Fixtures.rows("Vectors/hkdf-sha256.tsv") {
            let output = try row.bytes("output")
            let derived = try HKDF.derive(
                key: SecretBytes(row.bytes("key")), salt: row.bytes("salt"), info: row.bytes("info"),
                count: output.count)
            #expect(derived.copyBytes() == output, "\(row)")
        }
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

    @Test("scrypt gives the results of RFC 7914")
    func scrypt() throws {
        for row in try Fixtures.rows("Vectors/scrypt.tsv") {
            let derived = try Scrypt.derive(
                passphrase: SecretBytes(utf8: row["passphrase"]), salt: [UInt8](row["salt"].utf8),
                n: row.number("n"), r: row.number("r"), p: row.number("p"), count: 64)
            let output = try row.bytes("output")
            #expect(derived.copyBytes() == output, "\(row)")
        }
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

    @Test("AES key wrap gives the results of RFC 3394 and unwraps them")
    func keyWrap() throws {
        for row in try Fixtures.rows("Vectors/aes-key-wrap.tsv") {
            let key = SecretBytes(try row.bytes("key"))
            let (secret, expected) = (try row.bytes("secret"), try row.bytes("wrapped"))
            let wrapped = try AESKeyWrap.wrap(SecretBytes(secret), key: key)
            #expect(wrapped == expected, "\(row)")
            #expect(try AESKeyWrap.unwrap(wrapped, key: key).copyBytes() == secret, "\(row)")
            var changed = wrapped
            changed[9] ^= 0x80
            #expect(cryptoCode { _ = try AESKeyWrap.unwrap(changed, key: key) } == .authenticationFailed)
            #expect(cryptoCode {
                _ = try AESKeyWrap.unwrap(wrapped, key: RandomBytes.secret(count: 32))
            } == .authenticationFailed)
            #expect(cryptoCode { _ = try AESKeyWrap.unwrap(wrapped.dropLast(), key: key) } == .invalidInput)
            #expect(cryptoCode { _ = try AESKeyWrap.wrap(SecretBytes([1, 2, 3]), key: key) } == .invalidInput)
        }
    }

    @Test("AES key wrap with padding gives the results of RFC 5649 and unwraps them")
    func paddedKeyWrap() throws {
        for row in try Fixtures.rows("Vectors/aes-key-wrap-padded.tsv") {
            let key = SecretBytes(try row.bytes("key"))
            let (secret, expected) = (try row.bytes("secret"), try row.bytes("wrapped"))
            let wrapped = try AESKeyWrap.wrapPadded(SecretBytes(secret), key: key)
            #expect(wrapped == expected, "\(row)")
            #expect(try AESKeyWrap.unwrapPadded(wrapped, key: key).copyBytes() == secret, "\(row)")
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
    }

    @Test("AES-256 key wrap with padding keeps secrets of every length", arguments: 1...33)
    func paddedKeyWrapLengths(_ count: Int) throws {
        let key = try RandomBytes.secret(count: 32)
        let secret = try RandomBytes.secret(count: count)
        #expect(try AESKeyWrap.unwrapPadded(AESKeyWrap.wrapPadded(secret, key: key), key: key) == secret)
    }

    @Test("HMAC-SHA-256 gives the results of RFC 4231")
    func hmac() throws {
        for row in try Fixtures.rows("Vectors/hmac-sha256.tsv") {
            let (message, expected) = (try row.bytes("message"), try row.bytes("code"))
            let hmac = try HMACSHA256(key: SecretBytes(row.bytes("key")))
            for _ in 0..<3 {
                #expect(try hmac.authenticationCode(for: message) == expected, "\(row)")
                #expect(try hmac.authenticationCode(for: Data(message)) == expected, "\(row)")
            }
            #expect(try hmac.isValid(expected, for: message), "\(row)")
            #expect(try !hmac.isValid(expected, for: message + [0]), "\(row)")
        }
    }

    @Test("HMAC-SHA-256 takes an empty key and an empty message")
    func emptyHMAC() throws {
        let code = try HMACSHA256(key: SecretBytes([])).authenticationCode(for: [UInt8]())
        #expect(code == bytes("b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"))
    }

    @Test("Digests give the results of FIPS 180", arguments: [Digest.sha1, .sha256, .sha384, .sha512])
    func digests(_ digest: Digest) throws {
        let rows = try Fixtures.rows("Vectors/digests.tsv")
        let row = try #require(try rows.first { try $0["digest"] == "\(digest)" })
        let (message, expected) = (try row["message"], try row.bytes("code"))
        #expect(digest([UInt8](message.utf8)) == Data(expected))
        #expect(digest(SecretBytes(utf8: message)) == Data(expected))
        #expect(digest.count == expected.count)
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
