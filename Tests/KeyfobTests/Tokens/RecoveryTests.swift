import Foundation
import GRDB
import KeyfobPrimitives
import KeyfobTesting
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// The effects of undoing a failed change and of recovering after a kill.
@Suite struct RecoveryTests {
    private func unfinished(_ keychain: Keychain) throws -> Int {
        try keychain.store.read { try $0.unfinishedRows().count }
    }

    /// Makes a keychain on a token whose module can be told to fail.
    private static func create(
        on token: TestToken, by module: FaultyModule, in directory: TemporaryDirectory
    ) throws -> Keychain {
        _ = try token.behind(module)
        let pin = try directory.write(Array(TestToken.pinText.utf8), to: "pin")
        return try Keychains(Directories(root: directory.url("keyfob"))).create(
            token.label, on: .existing(token.uri, .path(module.path), pin: token.pin, pinSource: .file(pin))).keychain
    }

    @Test func `undoing a failed import keeps a key that existed before`() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        let directory = try TemporaryDirectory()
        try openssl(
            ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", directory.file("key.pem")])
        func certificate(_ days: Int) throws -> Certificate {
            try openssl([
                "req", "-x509", "-subj", "/CN=same", "-set_serial", "1", "-days", "\(days)", "-key",
                directory.file("key.pem"),
                "-outform", "DER", "-out", directory.file("\(days).der"),
            ])
            return try Certificate(der: Data(contentsOf: directory.url("\(days).der")))
        }
        let key = try PrivateKey.load(Data(contentsOf: directory.url("key.pem")))
        let first = try certificate(10)
        _ = try keychain.keys.importKey(key, label: "mine")
        try keychain.add(CertificateItem(first))
        try test.tool(["--delete-object", "--type", "pubkey", "--id", first.publicKey.identifier.hexadecimal])
        // The certificate has the same issuer and serial number, so its row is refused after the objects were made.
        #expect(code { _ = try keychain.identities.importKeyPair(key: key, certificate: certificate(20)) } == .duplicateItem)
        #expect(try unfinished(keychain) == 0)
        #expect(try keychain.find(.certificates).map(\.der) == [first.der])
        let keys = try keychain.find(.keys)
        #expect(keys.count == 1 && keys.first?.label == "mine" && keys.first?.keyClass == .private)
        let signer = try keychain.keys.tokenKey(for: keychain.only(.identity()))
        let message = Array("message".utf8)
        #expect(try first.publicKey.verify(signer.sign(message, using: .ecdsa(.sha256)), of: message, using: .ecdsa(.sha256)))
    }

    @Test func `a list of certificates is added completely or not at all`() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        let items = try (0..<3).map { try CertificateItem(Certificate(der: TestCertificate("c\($0)").der)).item }
        #expect(code { _ = try keychain.tokenItems.addCertificates(items + [items[0]]) } == .duplicateItem)
        #expect(try keychain.find(.certificates).isEmpty && unfinished(keychain) == 0)
        try keychain.add(CertificateItem(item: items[1]))
        #expect(code { _ = try keychain.tokenItems.addCertificates(items) } == .duplicateItem)
        #expect(try keychain.find(.certificates).map(\.label) == ["c1"])
        #expect(try keychain.store.read { try $0.rowCount() } == 1)
    }

    @Test func `an object that the token does not allow to be modified can be renamed`() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        try keychain.token.withSession(.create) { session in
            _ = try session.create([
                .objectClass(.secretKey), .keyType(.aes), .token(true), .isPrivate(true), .label("fixed"), .id([9]),
                .bool(.modifiable, false), .secret(.value, SecretBytes([UInt8](repeating: 1, count: 16))),
            ])
        }
        try keychain.update(.key(label: "fixed"), [.label: "renamed"])
        #expect(try keychain.find(.keys).compactMap(\.label) == ["renamed"])
        #expect(try keychain.token.readObjects().objects.contains { $0.label == .string("fixed") })
    }

    @Test func `recovery does not destroy an object that a killed change was making`() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        try test.tool(["--keypairgen", "--key-type", "EC:prime256v1", "--id", "0c", "--label", "left"])
        let left = try keychain.token.readObjects().objects.filter { $0.id == Data([0x0C]) }
        #expect(left.count == 2)
        try leave(left.map { UnfinishedObject(awaitingCertificate: $0, name: "left") }, in: keychain)
        let other = try test.reopen()
        #expect(try other.passwordCount() == 0)
        _ = try other.keys.generate(.aes(bits: 128), label: "next")
        #expect(try other.find(.keys).compactMap(\.label) == ["next"])
        #expect(try other.token.readObjects().objects.count { $0.id == Data([0x0C]) } == 2)
        #expect(try other.integrity.findings().map(\.code) == [.objectUnlisted, .objectUnlisted])
        #expect(try other.integrity.removeUnlistedObjects().count == 2)
        #expect(try other.token.readObjects().objects.allSatisfy { $0.id != Data([0x0C]) })
        #expect(try other.integrity.findings().isEmpty)
        #expect(try unfinished(other) == 0)
    }

    @Test func `an import adopts the objects that a killed import has left`() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        let key = try PrivateKey.generate(.ec(.p256))
        let pair = try NewObject.pair(key, label: Array("mine".utf8), subject: nil, isExtractable: false)
        let objects = try keychain.token.withSession(.create) { session in
            let writer = try keychain.writer(keychain.vaultKeys())
            return try [pair.privateKey, pair.publicKey].map { try writer.createObject($0, in: session) }
        }
        try leave([pair.privateKey, pair.publicKey].map { UnfinishedObject(making: $0) }, in: keychain)
        let other = try test.reopen()
        #expect(try other.find(.keys).isEmpty)
        _ = try other.keys.importKey(key, label: "mine")
        #expect(Set(try other.find(.keys).compactMap(\.label)) == ["mine"])
        #expect(try other.token.readObjects().objects.count { $0.id == objects[0].id } == 2)
        #expect(try unfinished(other) == 0)
        #expect(try other.integrity.findings().isEmpty)
    }

    @Test func `a row of an object that was never made is removed`() throws {
        let test = try TestKeychain()
        let certificate = try Certificate(der: TestCertificate("never").der)
        try leave([UnfinishedObject(making: NewObject(certificate: certificate, label: nil))], in: test.keychain)
        let other = try test.reopen()
        #expect(try other.integrity.findings().isEmpty)
        _ = try other.keys.generate(.aes(bits: 128), label: "next")
        #expect(try unfinished(other) == 0)
    }

    @Test func `no backup is made before an interrupted removal is finished`() throws {
        let test = try TestKeychain()
        let key = try test.keychain.keys.generate(.aes(bits: 128), label: "key")
        let object = try #require(key.item.object)
        let row = try #require(key.reference).identity
        try leave([UnfinishedObject(removing: object, rows: [row])], in: test.keychain)
        let directory = try TemporaryDirectory()
        let keychains = Keychains(test.keychain.directories)
        #expect(code { try keychains.backUp(test.keychain.name, to: directory.url("backup")) } == .refused)
        #expect(try test.reopen().find(.keys).isEmpty)
        try keychains.backUp(test.keychain.name, to: directory.url("backup"))
        #expect(FileManager.default.fileExists(atPath: directory.file("backup")))
    }

    @Test func `a token that refuses to destroy an object does not block other operations`() throws {
        let directory = try TemporaryDirectory()
        let token = try TestToken.make(label: "keeper")
        let module = try FaultyModule(in: directory)
        let keychain = try Self.create(on: token, by: module, in: directory)
        let keychains = Keychains(keychain.directories)
        try keychain.add(GenericPassword(service: "a"), secret: SecretBytes(utf8: "secret"))
        let identity = try keychain.identities.create("web", .server("web"), issuer: SelfIssuer()).identity
        try module.say("answer=C_DestroyObject,0x80000114,999,1")
        #expect(code { try keychain.delete(identity) } != nil)
        // Neither in this process nor in a later one, while the removal is still refused.
        for keychain in [keychain, try keychains.open(token.label)] {
            let item = try keychain.only(.genericPassword(service: "a"))
            #expect(try keychain.secret(of: item) == SecretBytes(utf8: "secret"))
            try keychain.update(.genericPassword(service: "a"), [.comment: "changed"])
        }
        #expect(try unfinished(keychain) == 0)
    }

    @Test func `a transient failure while a key is made is retried, and a permanent one leaves nothing`() throws {
        let directory = try TemporaryDirectory()
        let token = try TestToken.make(label: "stumbler")
        let module = try FaultyModule(in: directory)
        let keychain = try Self.create(on: token, by: module, in: directory)
        for words in ["answer=C_SetAttributeValue,5,3", "mute=4"] {
            try module.say(words)
            let key = try keychain.keys.generate(.p256, label: "key")
            #expect(key.item.object?.id == key.item.object?.publicKeyHash && key.item.object?.publicKeyHash != nil)
        }
        try module.say("answer=C_SetAttributeValue,5")
        #expect(code { _ = try keychain.keys.generate(.p256, label: "other") } == .failed)
        try module.say("")
        try module.say("mute=1000")
        #expect(code { _ = try keychain.keys.generate(.p256, label: "mute") } == .tokenContractViolation)
        try module.say("")
        #expect(Set(try keychain.find(.keys).compactMap(\.label)) == ["key"])
        #expect(try unfinished(keychain) == 0)
    }

    @Test func `an object that SoftHSM misses temporarily is found, and a removed one is reported as missing`() throws {
        let directory = try TemporaryDirectory()
        let token = try TestToken.make(label: "blind")
        let module = try FaultyModule(in: directory)
        let keychain = try Self.create(on: token, by: module, in: directory)
        let object = try #require(try keychain.keys.generate(.p256, label: "key").item.object)
        func find(_ words: String) throws -> ObjectHandle {
            keychain.token.forgetHandles()
            try module.say("")
            return try keychain.token.withSession(.read) { session in
                // Set only now, because opening a session may search for objects too.
                try module.say(words)
                defer { do { try module.say("") } catch { Issue.record(error) } }
                return try keychain.token.verifiedHandle(of: object, in: session)
            }
        }
        let handle = try find("")
        #expect(try find("blind=3") == handle)
        // A token of another vendor that does not show the object does not have it, so there is no wait.
        #expect(code { _ = try find("stranger blind=4") } == .itemNotFound)
        #expect(try find("stranger") == handle)
        #expect(code { _ = try find("blind=1000") } == .itemNotFound)
        try keychain.token.withSession(.change) { try $0.destroy(handle) }
        #expect(code { _ = try find("") } == .itemNotFound)
    }

    @Test
    func `a change whose object SoftHSM has lost is retried twice, and other failures are reported at once`() throws {
        let token = try TestKeychain().keychain.token
        func tries(_ value: ReturnValue, failing count: Int) -> Int {
            var tries = 0
            // Only the number of attempts matters, not the last failure.
            try? token.retryingMomentaryFailures {
                tries += 1
                guard tries > count else {
                    throw KeychainError(
                        .failed, "lost", cause: PKCS11Error(function: .getAttributeValue, returnValue: value))
                }
            }
            return tries
        }
        #expect(tries(.objectHandleInvalid, failing: 2) == 3)
        #expect(tries(.functionFailed, failing: 1) == 2)
        #expect(tries(.generalError, failing: 9) == 3)
        #expect(tries(.deviceMemory, failing: 1) == 1)
    }

    /// Leaves rows as a killed process does.
    private func leave(_ objects: [UnfinishedObject], in keychain: Keychain) throws {
        let keys = try keychain.vaultKeys()
        try keychain.store.write(keys.tree) { writer in
            for object in objects { _ = try writer.insert(object.row(keys)) }
        }
    }

    @Test func `an interrupted removal is finished with its rows, and other objects stay`() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        let removed = try keychain.keys.generate(.p256, label: "removed")
        _ = try keychain.keys.generate(.p256, label: "spared")
        let objects = try keychain.token.readObjects().objects.filter { $0.id == removed.item.object?.id }
        #expect(objects.count == 2)
        let row = try #require(removed.reference).identity
        try leave(objects.map { UnfinishedObject(removing: $0, rows: [row]) }, in: keychain)
        let other = try test.reopen()
        #expect(try other.find(.keys).compactMap(\.label) == ["spared", "spared"])
        #expect(try unfinished(other) == 0)
        #expect(try other.store.read { try $0.rowCount() } == 1)
        #expect(try test.tool(["-O"]).stdout.contains("keyfob-wrap-1"))
    }

    @Test func `a token that ignores requested attributes causes an error, and its object is removed`() throws {
        let test = try TestKeychain()
        try test.keychain.token.withSession(.create) { session in
            let template: AttributeTemplate = [
                .objectClass(.secretKey), .keyType(.aes), .token(true), .isPrivate(true), .sensitive(false),
                .extractable(true),
                .id([5]), .secret(.value, SecretBytes([UInt8](repeating: 1, count: 32))),
            ]
            let handle = try session.create(template)
            // The test requests more protection than the token gave.
            let asked: AttributeTemplate = [.sensitive(true), .extractable(false), .id([5])]
            #expect(code { try AttributeReadBack.check(handle, asked, in: session, token: "t") } == .tokenContractViolation)
            #expect(try session.findObjects([.id([5])]).isEmpty)
        }
    }

    @Test(arguments: [KeySpecification.p256, .aes(bits: 256)])
    func `an object that the token neither protects nor removes is reported, and removed when possible`(
        kind: KeySpecification
    ) throws {
        let directory = try TemporaryDirectory()
        let token = try TestToken.make(label: "lax")
        let module = try FaultyModule(in: directory)
        let keychain = try Self.create(on: token, by: module, in: directory)
        func count() throws -> Int {
            try keychain.token.readObjects().objects.count { $0.objectClass != .publicKey && $0.label?.text == "weak" }
        }
        try module.say("lax answer=C_DestroyObject,0x80000114")
        let error = #expect(throws: KeychainError.self) { _ = try keychain.keys.generate(kind, label: "weak") }
        #expect(error?.code == .tokenContractViolation, "\(error as Any)")
        #expect(error?.hint?.contains("could not be removed at once. If it is still there") == true, "\(error as Any)")
        #expect((error?.cause as? PKCS11Error)?.function == .destroyObject)
        #expect(try count() == 1)
        #expect(try keychain.integrity.findings().contains { $0.code == .objectUnlisted })
        try module.say("")
        #expect(try !keychain.integrity.removeUnlistedObjects().isEmpty)
        #expect(try count() == 0)
        #expect(try unfinished(keychain) == 0)

        // An object that is removed at the second attempt is reported in the same words.
        try module.say("lax answer=C_DestroyObject,0x80000114,1")
        let second = #expect(throws: KeychainError.self) { _ = try keychain.keys.generate(kind, label: "weak") }
        #expect(second?.code == .tokenContractViolation && second?.hint == error?.hint, "\(second as Any)")
        #expect(try count() == 0 && unfinished(keychain) == 0)

        // An object that can never be removed does not block other changes, and no list shows it.
        try module.say("lax answer=C_DestroyObject,0x80000114")
        #expect(code { _ = try keychain.keys.generate(kind, label: "weak") } == .tokenContractViolation)
        try module.say("answer=C_DestroyObject,0x80000114")
        _ = try keychain.keys.generate(.p256, label: "another")
        #expect(try count() == 1)
        #expect(try !keychain.find(.keys).contains { $0.label == "weak" })
        #expect(try keychain.integrity.findings().contains { $0.code == .objectUnlisted })
    }
}
