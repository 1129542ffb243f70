import KeyfobPrimitives
import PKCS11
import TestSupport
import Testing

@Suite("Secret keys") struct SecretKeyTests {
    private func importKey(_ session: borrowing Session, _ value: [UInt8]) throws -> ObjectHandle {
        try session.create([
            .objectClass(.secretKey), .keyType(.aes), .token(false), .isPrivate(true), .sensitive(false),
            .extractable(true), .encrypt(true), .decrypt(true), .wrap(true), .unwrap(true),
            .secretValue(SecretBytes(value)),
        ])
    }

    private func generate(_ session: borrowing Session, bytes: UInt = 32) throws -> ObjectHandle {
        try session.generateKey(Mechanism(.aesKeyGeneration), template: [
            .objectClass(.secretKey), .keyType(.aes), .valueLength(bytes), .token(true), .isPrivate(true),
            .sensitive(true), .extractable(false), .encrypt(true), .decrypt(true), .wrap(true), .unwrap(true),
        ])
    }

    @Test("AES-GCM gives the results of the published test case, with tag and additional data")
    func gcmVector() throws {
        let token = try TestToken.make(label: "gcm")
        let session = try token.openSession()
        let rows = try Fixtures.rows("Vectors/aes-gcm.tsv")
        let row = try #require(try rows.first { try $0["case"] == "4" })
        let key = try importKey(session, row.bytes("key"))
        let mechanism = Mechanism.aesGCM(iv: try row.bytes("nonce"), additionalData: try row.bytes("additional"))
        let (plaintext, expected) = (try row.bytes("plaintext"), try row.bytes("ciphertext") + row.bytes("tag"))
        let ciphertext = try session.encrypt(plaintext, with: key, using: mechanism)
        #expect(ciphertext == expected)
        let decrypted = try session.decrypt(ciphertext, with: key, using: mechanism)
        #expect(decrypted == plaintext)
        let secret = try session.encryptSecret(SecretBytes(plaintext), with: key, using: mechanism)
        #expect(secret == ciphertext)
    }

    @Test("AES-GCM decrypts its own output of any size", arguments: [0, 1, 16, 32, 1000, 5000, 200_000])
    func gcmSizes(count: Int) throws {
        let token = try TestToken.make(label: "gcmsize")
        let session = try token.openSession()
        let key = try generate(session)
        let iv = try session.random(count: 12)
        let plaintext = try session.random(count: count)
        let mechanism = Mechanism.aesGCM(iv: iv, additionalData: [1, 2, 3])
        let ciphertext = try session.encrypt(plaintext, with: key, using: mechanism)
        #expect(ciphertext.count == count + 16)
        let secret = try session.decryptSecret(ciphertext, with: key, using: mechanism)
        #expect(secret == SecretBytes(plaintext))
        let plain = try session.decrypt(ciphertext, with: key, using: mechanism)
        #expect(plain == plaintext)
    }

    @Test("A changed ciphertext or other additional data give an error and a session that must be closed")
    func gcmTampering() throws {
        let token = try TestToken.make(label: "tamper")
        let session = try token.openSession()
        let key = try generate(session)
        let iv = [UInt8](repeating: 7, count: 12)
        let ciphertext = try session.encrypt([1, 2, 3], with: key, using: .aesGCM(iv: iv, additionalData: [1]))
        let other = try refusal {
            try session.decrypt(ciphertext, with: key, using: .aesGCM(iv: iv, additionalData: [2]))
        }
        #expect(other?.function == .decrypt)
        // SoftHSM's answer for this case.
        #expect(other?.returnValue == .generalError)
        let isBroken = session.isBroken
        #expect(isBroken)
        let fresh = try token.openSession()
        var changed = ciphertext
        changed[0] ^= 1
        let tampered = try refusal {
            try fresh.decryptSecret(changed, with: key, using: .aesGCM(iv: iv, additionalData: [1]))
        }
        #expect(tampered?.function == .decrypt)
    }

    @Test("Key wrap gives the results of RFC 3394, in both directions")
    func keyWrapVector() throws {
        let token = try TestToken.make(label: "wrap")
        let session = try token.openSession()
        let row = try #require(try Fixtures.rows("Vectors/aes-key-wrap.tsv").first)
        let wrapping = try importKey(session, row.bytes("key"))
        let (data, expected) = (try row.bytes("secret"), try row.bytes("wrapped"))
        let wrapped = try session.wrap(try importKey(session, data), with: wrapping, using: Mechanism(.aesKeyWrap))
        #expect(wrapped == expected)
        #expect(MechanismType.aesKeyWrap.rawValue == 0x2109)
        let template: AttributeTemplate = [
            .objectClass(.secretKey), .keyType(.genericSecret), .token(false), .isPrivate(true), .sensitive(false),
            .extractable(true),
        ]
        let unwrapped = try session.unwrap(wrapped, with: wrapping, using: Mechanism(.aesKeyWrap), template: template)
        let value = try session.secretAttribute(.value, of: unwrapped)
        #expect(value == SecretBytes(data))
        var changed = wrapped
        changed[3] ^= 1
        let error = try refusal {
            try session.unwrap(changed, with: wrapping, using: Mechanism(.aesKeyWrap), template: template)
        }
        #expect(error?.function == .unwrapKey)
    }

    @Test("A key that must stay on the token cannot be exported")
    func unextractable() throws {
        let token = try TestToken.make(label: "stay")
        let session = try token.openSession()
        let key = try generate(session)
        let error = try refusal { try session.wrap(key, with: key, using: Mechanism(.aesKeyWrap)) }
        #expect(error?.returnValue == .keyUnextractable)
        let values = try session.attributes([.value, .label, .extractable], of: key)
        #expect(values[.value] == nil)
        #expect(values.bool(.extractable) == false)
    }

    @Test("Generated keys have the requested size", arguments: [UInt(16), 24, 32])
    func generation(bytes: UInt) throws {
        let token = try TestToken.make(label: "aes")
        let session = try token.openSession()
        let values = try session.attributes(
            [.valueLength, .keyType, .sensitive], of: try generate(session, bytes: bytes))
        #expect(values.ulong(.valueLength) == bytes)
        #expect(values.keyType == .aes)
        #expect(values.bool(.sensitive) == true)
    }

    @Test("Random bytes have the requested length, and differ each time", arguments: [1, 32, 4096])
    func random(count: Int) throws {
        let token = try TestToken.make(label: "random")
        let session = try token.openSession()
        try session.seedRandom([1, 2, 3])
        let secret = try session.randomSecret(count: count)
        #expect(secret.count == count)
        let bytes = try session.random(count: max(16, count))
        let others = try session.random(count: max(16, count))
        #expect(bytes.count == max(16, count) && bytes != others)
    }
}
