import Foundation
import GRDB
import KeyfobOpenSSL
import KeyfobPrimitives
import KeyfobTesting
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// Keychains that a key pair on the token seals.
@Suite struct PublicKeyWrapTests {
    /// A keychain that is sealed by a key known outside the token.
    private struct Household {
        let directory: TemporaryDirectory
        let directories: Directories
        let keychain: Keychain
        let key: PrivateKey
        let token: TestToken
        /// SoftHSM for this test alone: no other test initialises it again.
        let module: FaultyModule

        init(_ algorithm: KeyAlgorithm) throws {
            directory = try TemporaryDirectory()
            directories = Directories(root: directory.url("keyfob"))
            module = try FaultyModule(in: directory)
            token = try TestToken.make(label: "sealed").behind(module)
            key = try PrivateKey.generate(algorithm)
            let pin = try directory.write(Array(TestToken.pinText.utf8), to: "pin")
            let pair = try NewObject.pair(key, label: Array("mine".utf8), subject: nil, isExtractable: false)
            let session = try token.openSession()
            _ = try session.create(pair.privateKey.template)
            _ = try session.create(pair.publicKey.template)
            var uri = PKCS11URI()
            uri.object = "mine"
            uri.type = .privateKey
            let created = try Keychains(directories).create(
                token.label,
                on: .existing(token.uri, .path(module.path), pin: token.pin, pinSource: .file(pin)),
                wrappingKey: uri)
            keychain = created.keychain
        }

        func reopen() throws -> Keychain { try Keychain.open(keychain.name, in: directories) }

        func sql<Result>(_ body: (Database) throws -> Result) throws -> Result {
            try DatabaseQueue(path: keychain.configuration.vault).writeWithoutTransaction(body)
        }

        /// The key in the form of RFC 7518 section 6.
        func jwk() throws -> String {
            func text(_ bytes: some Sequence<UInt8>) -> String { "\"\(Base64URL.encode(bytes))\"" }
            func text(_ secret: SecretBytes) -> String { text(secret.copyBytes()) }
            switch try key.components() {
            case .ec(let curve, let value, _):
                let point = [UInt8](key.publicKey.bits)
                let half = (point.count - 1) / 2
                return "{\"kty\":\"EC\",\"crv\":\"\(curve)\",\"d\":\(text(value)),\"x\":\(text(point[1...half])),"
                    + "\"y\":\(text(point[(half + 1)...]))}"
            default:
                throw KeychainError(.failed, "no such key in a test")
            }
        }
    }

    static let algorithms: [KeyAlgorithm] = [.rsa(bits: 2048), .ec(.p256), .ec(.p384), .ec(.p521)]

    @Test(arguments: algorithms)
    func `a keychain is sealed by a key that is on the token already`(algorithm: KeyAlgorithm) throws {
        let home = try Household(algorithm)
        let item = try home.keychain.add(GenericPassword(service: "s", account: "a"), secret: SecretBytes("value"))
        let keychain = try home.reopen()
        #expect(try keychain.secret(of: item) == SecretBytes("value"))
        #expect(try keychain.integrity.findings().isEmpty)
        let rows = try keychain.vaultRows.wrappingKeyRows()
        #expect(rows.map(\.suite) == [algorithm == .rsa(bits: 2048) ? "RSA-OAEP-256" : "ECDH-ES+A256KW"])
        // The key is not an item, and stays when the keychain goes.
        #expect(try keychain.find(.keys).isEmpty)
        try Keychains(home.directories).delete(keychain.name)
        #expect(try home.token.openSession().findObjects([.objectClass(.privateKey)]).count == 1)
    }

    @Test(arguments: algorithms.dropFirst())
    func `the stock jose opens the JWE of an item with the private EC key`(algorithm: KeyAlgorithm) throws {
        let home = try Household(algorithm)
        let secret = "the secret of the JWE"
        let item = try home.keychain.add(GenericPassword(service: "s"), secret: SecretBytes(secret))
        let jwe = try home.directory.write(Array(home.keychain.jwe(of: item).utf8), to: "jwe")
        let jwk = try home.directory.write(Array(home.jwk().utf8), to: "jwk")
        let result = try run("jose", ["jwe", "dec", "-i", jwe, "-k", jwk])
        #expect(result.status == 0, "\(result.stderr)")
        #expect(result.output.starts(with: Array(secret.utf8)))
    }

    /// jose 11 cannot use RSA keys with OpenSSL 3, so openssl unwraps the key, and jose opens the JWE with it.
    @Test func `stock tools open the JWE of an item with the private RSA key`() throws {
        let home = try Household(.rsa(bits: 2048))
        let secret = "the secret of the JWE"
        let item = try home.keychain.add(GenericPassword(service: "s"), secret: SecretBytes(secret))
        let text = try home.keychain.jwe(of: item)
        var jwe = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect((jwe["header"] as? [String: String])?["alg"] == "RSA-OAEP-256")
        let encryptedKey = try #require(
            (jwe["encrypted_key"] as? String).flatMap { Base64URL.decode(SecretBytes(utf8: $0))?.copyBytes() })
        let pem = try home.directory.write(home.key.pkcs8PEM(passphrase: nil).copyBytes(), to: "key.pem")
        let unwrapped = try run(
            "openssl",
            [
                "pkeyutl", "-decrypt", "-inkey", pem, "-pkeyopt", "rsa_padding_mode:oaep", "-pkeyopt",
                "rsa_oaep_md:sha256",
            ], stdin: encryptedKey)
        #expect(unwrapped.output.count == 32, "\(unwrapped.stderr)")
        jwe["header"] = ["alg": "dir"]
        jwe["encrypted_key"] = nil
        let direct = try home.directory.write([UInt8](JSONSerialization.data(withJSONObject: jwe)), to: "jwe")
        let jwk = "{\"kty\":\"oct\",\"k\":\"\(Base64URL.encode(unwrapped.output))\"}"
        let result = try run(
            "jose", ["jwe", "dec", "-i", direct, "-k", home.directory.write(Array(jwk.utf8), to: "jwk")])
        #expect(result.output.starts(with: Array(secret.utf8)), "\(result.stderr)")
    }

    @Test func `an unlocked keychain stores a secret without the token`() throws {
        let home = try Household(.rsa(bits: 2048))
        let keys = try home.keychain.vaultKeys()
        let keychain = try home.reopen()
        let pin = home.keychain.lockState.withLock { $0.pin }
        keychain.lockState.withLock { ($0.keys, $0.pin) = (keys, pin) }
        let item = try keychain.add(GenericPassword(service: "s"), secret: SecretBytes("value"))
        #expect(keychain.token.loadedModule == nil)
        #expect(try keychain.secret(of: item) == SecretBytes("value"))
    }

    @Test func `nothing is sealed for a public key that another program put into the vault`() throws {
        let home = try Household(.ec(.p256))
        let other = try PrivateKey.generate(.ec(.p256)).publicKey.subjectPublicKeyInfo
        try home.sql { try $0.execute(sql: "UPDATE wrapping_key SET public_key = ?", arguments: [other]) }
        let keychain = try home.reopen()
        let error = #expect(throws: KeychainError.self) {
            try keychain.add(GenericPassword(service: "s"), secret: SecretBytes("value"))
        }
        #expect(error?.code == .vaultDamaged)
        #expect(try keychain.integrity.findings().map(\.code) == [.wrappingKeyDamaged])
    }

    /// An attacker without the token can wrap with the public key, but not make a metadata key that opens.
    @Test(arguments: [KeyAlgorithm.rsa(bits: 2048), .ec(.p256)])
    func `a metadata key that was wrapped with the public key does not open`(algorithm: KeyAlgorithm) throws {
        let home = try Household(algorithm)
        let row = try #require(try home.keychain.vaultRows.wrappingKeyRows().first)
        let suite = try #require(try WrapSuites.named(row.suite) as? any PublicKeyWrapSuite)
        let forged = try suite.wrap(RandomBytes.secret(count: 32), for: home.key.publicKey)
        for bytes in [forged, Array(forged.suffix(40))] {
            try home.sql {
                try $0.execute(sql: "UPDATE wrapping_key SET encrypted_metadata_key = ?", arguments: [Data(bytes)])
            }
            let error = #expect(throws: KeychainError.self) { try home.reopen().unlock() }
            #expect(error?.code == .vaultDamaged)
        }
    }

    /// An attacker with the public key can wrap a row key of their own, and encrypt another secret under it.
    @Test func `a secret that was sealed without the keychain's keys does not open`() throws {
        let home = try Household(.rsa(bits: 2048))
        let item = try home.keychain.add(GenericPassword(service: "s"), secret: SecretBytes("right"))
        let keys = try home.keychain.vaultKeys()
        let reference = try #require(item.item.reference)
        let read = try home.keychain.store.read(keys.tree) {
            try $0.row(identity: reference.identity, withSecret: true)
        }
        let row = try #require(read)
        let additionalData = AdditionalData(
            .secret, vault: home.keychain.store.identity, row: row.identity, itemClass: .genericPassword, version: 1)
        let suite = try #require(try WrapSuites.named("RSA-OAEP-256") as? any PublicKeyWrapSuite)
        let forgedKey = try RandomBytes.secret(count: 32)
        let nonce = try #require(row.secret).initializationVector
        // The record of the rows has the first bytes of the tag. A forger can solve for them, and gets as far as this.
        let (ciphertext, tag) = try AESGCM(key: forgedKey).seal(
            SecretPadding.pad(SecretBytes("forged")), nonce: nonce, additionalData: additionalData.jose)
        let sealed = SealedBytes(initializationVector: nonce, ciphertext: ciphertext, tag: tag)
        let wrapped = try suite.wrap(forgedKey, for: home.key.publicKey)
        var forged = row
        forged.secret = sealed
        let wrappingKey = try #require(try home.keychain.vaultRows.wrappingKeyRows().first)
        let others = try VaultKeys(metadataKey: RandomBytes.secret(count: 32), vault: home.keychain.store.identity)
        let old = try #require(row.recipients.first).code
        for code in [[], old, try others.recipient(wrapped, of: wrappingKey, additionalData).code] {
            forged.recipients = [Recipient(wrappingKey: wrappingKey.id, encryptedKey: wrapped, code: code)]
            let error = #expect(throws: KeychainError.self) {
                try home.keychain.vaultRows.openSecret(forged, .genericPassword, keys)
            }
            #expect(error?.code == .vaultDamaged)
        }
        // With a right code it opens: nothing else refuses it.
        forged.recipients = [try keys.recipient(wrapped, of: wrappingKey, additionalData)]
        #expect(try home.keychain.vaultRows.openSecret(forged, .genericPassword, keys) == SecretBytes("forged"))
        #expect(try home.keychain.vaultRows.openSecret(row, .genericPassword, keys) == SecretBytes("right"))
    }

    /// The vault of another keychain on the token, sealed by a key that its maker knows.
    @Test func `a vault that names another key than the configuration does not open`() throws {
        let home = try Household(.ec(.p256))
        let other = try Household(.ec(.p256))
        let row = try #require(try other.keychain.vaultRows.wrappingKeyRows().first)
        try home.sql {
            try $0.execute(sql: "UPDATE wrapping_key SET object_id = ?", arguments: [row.objectID])
        }
        let error = #expect(throws: KeychainError.self) { try home.reopen().unlock() }
        #expect(error?.code == .vaultDamaged)
        // The real key is still not an item.
        #expect(try home.keychain.find(.keys).isEmpty)
    }

    @Test func `the key that seals one keychain is not an item of another one on the token`() throws {
        let home = try Household(.rsa(bits: 2048))
        let pin = home.directory.file("pin")
        let second = try Keychains(home.directories).create(
            "second",
            on: .existing(
                home.token.uri, .path(home.module.path), pin: home.token.pin, pinSource: .file(pin))).keychain
        #expect(try second.find(.keys).isEmpty)
        #expect(try home.keychain.find(.keys).isEmpty)
    }

    @Test func `a key that can be copied does not seal a keychain`() throws {
        let directory = try TemporaryDirectory()
        let module = try FaultyModule(in: directory)
        let token = try TestToken.make(label: "copied").behind(module)
        let pair = try NewObject.pair(
            PrivateKey.generate(.rsa(bits: 2048)), label: Array("open".utf8), subject: nil, isExtractable: true)
        let session = try token.openSession()
        _ = try session.create(pair.privateKey.template)
        _ = try session.create(pair.publicKey.template)
        var uri = PKCS11URI()
        uri.object = "open"
        uri.type = .privateKey
        let error = #expect(throws: KeychainError.self) {
            try Keychains(Directories(root: directory.url("keyfob"))).create(
                "copied", on: .existing(token.uri, .path(module.path), pin: token.pin, pinSource: nil),
                wrappingKey: uri)
        }
        #expect(error?.code == .invalidArgument)
    }

    @Test func `a name that fits several keys or none does not choose a wrapping key`() throws {
        let directory = try TemporaryDirectory()
        let module = try FaultyModule(in: directory)
        let token = try TestToken.make(label: "names").behind(module)
        let session = try token.openSession()
        let suite = try WrapSuites.named("A256GCMKW")
        for id in [[UInt8(1)], [2]] {
            _ = try suite.generateKey(label: "twin", id: id, in: session)
        }
        for (label, code) in [("twin", KeychainError.Code.ambiguous), ("absent", .itemNotFound)] {
            var uri = PKCS11URI()
            uri.object = label
            let error = #expect(throws: KeychainError.self) {
                try Keychains(Directories(root: directory.url("keyfob"))).create(
                    "names",
                    on: .existing(token.uri, .path(module.path), pin: token.pin, pinSource: nil),
                    wrappingKey: uri)
            }
            #expect(error?.code == code)
        }
        #expect(try token.openSession().findObjects([.objectClass(.secretKey)]).count == 2)
    }
}
