import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

/// Vectors that are made to find errors of implementations; `Fixtures/README.md` names their origin.
@Suite struct WycheproofTests {
    @Test func `AES-GCM gives the same results, and refuses each changed tag`() throws {
        for row in try Fixtures.rows("Wycheproof/aes-gcm.tsv") {
            let (nonce, additional) = (try row.bytes("nonce"), try row.bytes("additional"))
            let (plaintext, ciphertext) = (try row.bytes("plaintext"), try row.bytes("ciphertext"))
            let (tag, isValid) = (try row.bytes("tag"), try row["result"] == "valid")
            let cipher = try AESGCM(key: SecretBytes(row.bytes("key")), nonceCount: nonce.count)
            let sealed = try cipher.seal(plaintext, nonce: nonce, additionalData: additional)
            #expect(sealed.ciphertext == ciphertext, "\(row)")
            #expect((sealed.tag == tag) == isValid, "\(row)")
            var opened: SecretBytes?
            let refusal = cryptoCode {
                opened = try cipher.open(ciphertext: ciphertext, tag: tag, nonce: nonce, additionalData: additional)
            }
            #expect(refusal == (isValid ? nil : .authenticationFailed), "\(row)")
            #expect(opened?.copyBytes() == (isValid ? plaintext : nil), "\(row)")
        }
    }

    @Test func `AES-GCM refuses nonces of another length than was agreed on`() throws {
        for row in try Fixtures.rows("Wycheproof/aes-gcm.tsv") where try row["flag"] == "CounterWrap" {
            let (key, nonce) = (SecretBytes(try row.bytes("key")), try row.bytes("nonce"))
            #expect(cryptoCode {
                _ = try AESGCM(key: key).seal([1], nonce: nonce, additionalData: [])
            } == .invalidNonceLength, "\(row)")
        }
    }

    /// Keys of 8 bytes, which RFC 3394 allows and NIST SP 800-38F does not, are refused.
    @Test func `AES key wrap gives the same results, and refuses what is invalid`() throws {
        for row in try Fixtures.rows("Wycheproof/aes-key-wrap.tsv") {
            let key = SecretBytes(try row.bytes("key"))
            let (secret, wrapped) = (try row.bytes("secret"), try row.bytes("wrapped"))
            let isValid = try row["result"] == "valid"
            var results: (wrapped: [UInt8]?, secret: SecretBytes?)
            let wrapRefusal = cryptoCode { results.wrapped = try AESKeyWrap.wrap(SecretBytes(secret), key: key) }
            let unwrapRefusal = cryptoCode { results.secret = try AESKeyWrap.unwrap(wrapped, key: key) }
            if isValid {
                #expect(results.wrapped == wrapped, "\(row)")
                #expect(results.secret?.copyBytes() == secret, "\(row)")
            } else {
                let hasLength = secret.count >= 16 && secret.count.isMultiple(of: 8)
                #expect(wrapRefusal == (hasLength ? nil : .invalidInput), "\(row)")
                #expect(results.wrapped == nil || results.wrapped != wrapped, "\(row)")
                let hasWrappedLength = wrapped.count >= 24 && wrapped.count.isMultiple(of: 8)
                #expect(unwrapRefusal == (hasWrappedLength ? .authenticationFailed : .invalidInput), "\(row)")
                #expect(results.secret == nil, "\(row)")
            }
        }
    }

    @Test func `AES key wrap with padding gives the same results, and refuses each changed initial value`() throws {
        for row in try Fixtures.rows("Wycheproof/aes-key-wrap-padded.tsv") {
            let key = SecretBytes(try row.bytes("key"))
            let (secret, wrapped) = (try row.bytes("secret"), try row.bytes("wrapped"))
            let isValid = try row["result"] == "valid"
            let made = try AESKeyWrap.wrapPadded(SecretBytes(secret), key: key)
            #expect((made == wrapped) == isValid, "\(row)")
            var unwrapped: SecretBytes?
            let refusal = cryptoCode { unwrapped = try AESKeyWrap.unwrapPadded(wrapped, key: key) }
            #expect(refusal == (isValid ? nil : .authenticationFailed), "\(row)")
            #expect(unwrapped?.copyBytes() == (isValid ? secret : nil), "\(row)")
        }
    }
}
