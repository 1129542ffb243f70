import Foundation
import GRDB
import KeyfobPrimitives
import KeyfobTesting
import OpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// What undoing a change may touch, and what it may not.
@Suite struct RecoveryTests {
    private func intents(_ keychain: Keychain) throws -> Int { try keychain.store.read { try $0.intents().count } }

    /// A new keychain on a token that is reached through a module which can be told to fail.
    private static func create(
        on token: TestToken, by module: FaultyModule, in directory: TemporaryDirectory
    ) throws -> Keychain {
        _ = try token.behind(module)
        let pin = try directory.write(Array(TestToken.pinText.utf8), to: "pin")
        return try Keychains(Directories(root: directory.url("keyfob"))).create(
            token.label, on: .existing(token.uri, .path(module.path), pin: token.pin, pinSource: .file(pin))).keychain
    }

    @Test func `the undo of a failed import spares a key that was there before`() throws {
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
        _ = try keychain.importKey(key, label: "mine")
        try keychain.add(CertificateItem(first))
        try test.tool(["--delete-object", "--type", "pubkey", "--id", first.publicKey.identifier.hexadecimal])
        // Same issuer and serial number: the row is refused when the objects are there already.
        #expect(code { _ = try keychain.importIdentity(key: key, certificate: certificate(20)) } == .duplicateItem)
        #expect(try intents(keychain) == 0)
        #expect(try keychain.find(.certificates).map(\.der) == [first.der])
        let keys = try keychain.find(.keys)
        #expect(keys.count == 1 && keys.first?.label == "mine" && keys.first?.keyClass == .private)
        let signer = try keychain.tokenKey(for: keychain.only(.identity()))
        let message = Array("message".utf8)
        #expect(try first.publicKey.verify(signer.sign(message, using: .ecdsa(.sha256)), of: message, using: .ecdsa(.sha256)))
    }

    @Test func `a certificate that a kill has cut short while its name changed hands is made anew`() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        let identity = try keychain.createIdentity("web", .server("web"), issuer: SelfIssuer()).identity
        let object = try #require(identity.item.certificateObject)
        let planned = TokenPlan.Object(object, newLabel: Data("web@2026-01-01".utf8), among: [object])
        let plan = TokenPlan(kind: .install, objects: [planned])
        let keys = try keychain.keys()
        func leave() throws {
            let intent = try keys.sealPlan(plan, identity: Data(count: 16), vault: keychain.store.identity)
            _ = try keychain.store.write(keys.tree) { try $0.insert(intent) }
        }
        // Gone, as SoftHSM leaves it.
        try leave()
        try test.tool(["--delete-object", "--type", "cert", "--label", "web"])
        let healed = try test.reopen()
        try healed.unlock()
        #expect(try healed.only(.identity(label: "web")).der == identity.der)
        #expect(try intents(healed) == 0)

        // Under its new label: who looks before it is settled sees the old one, and then it has that again.
        try healed.token.withSession(.change) { session in
            try session.setAttributes(
                [.label("web@2026-01-01")], of: healed.token.verifiedHandle(of: object, in: session))
        }
        #expect(try healed.find(.identity(label: "web")).isEmpty)
        try leave()
        #expect(try healed.only(.identity(label: "web")).der == identity.der)
        let again = try test.reopen()
        try again.unlock()
        #expect(try intents(again) == 0)
        let listed = try test.tool(["--list-objects", "--type", "cert"]).stdout
        #expect(listed.contains("label:      web\n"), "\(listed)")
    }

    @Test func `a list of certificates is added whole or not at all`() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        let items = try (0..<3).map { try CertificateItem(Certificate(der: TestCertificate("c\($0)").der)).item }
        #expect(code { _ = try keychain.addCertificates(items + [items[0]]) } == .duplicateItem)
        #expect(try keychain.find(.certificates).isEmpty && intents(keychain) == 0)
        try keychain.add(CertificateItem(item: items[1]))
        #expect(code { _ = try keychain.addCertificates(items) } == .duplicateItem)
        #expect(try keychain.find(.certificates).map(\.label) == ["c1"])
        #expect(try keychain.store.read { try $0.rowCount() } == 1)
    }

    @Test func `an object that cannot be changed is an error once, and no obstacle afterwards`() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        let key = try keychain.generateKey(.aes(bits: 128), label: "free")
        try keychain.token.withSession(.create) { session in
            _ = try session.create([
                .objectClass(.secretKey), .keyType(.aes), .token(true), .isPrivate(true), .label("fixed"), .id([9]),
                .bool(.modifiable, false), .secret(.value, SecretBytes([UInt8](repeating: 1, count: 16))),
            ])
        }
        #expect(code { try keychain.update(Query<KeyItem>(), [.label: "renamed"]) } != nil)
        #expect(try intents(keychain) == 0)
        #expect(try keychain.find(.keys).compactMap(\.label).sorted() == ["fixed", "free"])
        try keychain.update(Criteria(#require(key.reference)), [.label: "renamed"])
        #expect(try keychain.find(.keys).compactMap(\.label).sorted() == ["fixed", "renamed"])
    }

    @Test func `the undo of an import spares keys of which it cannot tell its own`() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        for _ in 0..<2 {
            try test.tool(["--keypairgen", "--key-type", "EC:prime256v1", "--id", "0c", "--label", "twin"])
        }
        let planned = TokenPlan.Object(objectClass: ObjectClass.privateKey.rawValue, ids: [Data([0x0C])])
        try leave(TokenPlan(kind: .create, objects: [planned]), keychain)
        let healed = try test.reopen()
        try healed.unlock()
        #expect(try intents(healed) == 0)
        let left = try healed.token.readObjects().objects.filter { $0.id == Data([0x0C]) && $0.objectClass == .privateKey }
        #expect(left.count == 2)
    }

    @Test func `a token that refuses to destroy an object is no obstacle to anything else`() throws {
        let directory = try TemporaryDirectory()
        let token = try TestToken.make(label: "keeper")
        let module = try FaultyModule(in: directory)
        let keychain = try Self.create(on: token, by: module, in: directory)
        let keychains = Keychains(keychain.directories)
        try keychain.add(GenericPassword(service: "a"), secret: SecretBytes(utf8: "secret"))
        let identity = try keychain.createIdentity("web", .server("web"), issuer: SelfIssuer()).identity
        try module.say("keep=1")
        #expect(code { try keychain.delete(identity) } != nil)
        // Neither here nor in a process that comes later, with the removal still refused.
        for keychain in [keychain, try keychains.open(token.label)] {
            let item = try keychain.only(.genericPassword(service: "a"))
            #expect(try keychain.secret(of: item) == SecretBytes(utf8: "secret"))
            try keychain.update(.genericPassword(service: "a"), [.comment: "changed"])
        }
        #expect(try intents(keychain) == 0)
    }

    @Test func `what fails for a moment while a key is made is done, and what goes on failing leaves nothing`() throws {
        let directory = try TemporaryDirectory()
        let token = try TestToken.make(label: "stumbler")
        let module = try FaultyModule(in: directory)
        let keychain = try Self.create(on: token, by: module, in: directory)
        for words in ["stumble=3", "mute=4"] {
            try module.say(words)
            let key = try keychain.generateKey(.p256, label: "key")
            #expect(key.item.object?.id == key.item.object?.publicKeyHash && key.item.object?.publicKeyHash != nil)
        }
        try module.say("stumble=1000")
        #expect(code { _ = try keychain.generateKey(.p256, label: "other") } == .failed)
        try module.say("")
        try module.say("mute=1000")
        #expect(code { _ = try keychain.generateKey(.p256, label: "mute") } == .tokenDisobeyed)
        try module.say("")
        #expect(Set(try keychain.find(.keys).compactMap(\.label)) == ["key"])
        #expect(try intents(keychain) == 0)
    }

    @Test func `an object that SoftHSM overlooks for a moment is found, and one that is gone is told to be`() throws {
        let directory = try TemporaryDirectory()
        let token = try TestToken.make(label: "blind")
        let module = try FaultyModule(in: directory)
        let keychain = try Self.create(on: token, by: module, in: directory)
        let object = try #require(try keychain.generateKey(.p256, label: "key").item.object)
        func find(_ words: String) throws -> ObjectHandle {
            keychain.token.forgetHandles()
            try module.say("")
            return try keychain.token.withSession(.read) { session in
                // Whoever gets a session may search, too.
                try module.say(words)
                defer { do { try module.say("") } catch { Issue.record(error) } }
                return try keychain.token.verifiedHandle(of: object, in: session)
            }
        }
        let handle = try find("")
        #expect(try find("blind=3") == handle)
        // A token of another maker that does not show it has not got it: nobody waits.
        #expect(code { _ = try find("stranger blind=4") } == .itemNotFound)
        #expect(try find("stranger") == handle)
        #expect(code { _ = try find("blind=1000") } == .itemNotFound)
        try keychain.token.withSession(.change) { try $0.destroy(handle) }
        #expect(code { _ = try find("") } == .itemNotFound)
    }

    @Test
    func `a change that SoftHSM lost sight of is made anew, twice, and any other failure is told at once`() throws {
        let token = try TestKeychain().keychain.token
        func tries(_ value: ReturnValue, failing count: Int) -> Int {
            var tries = 0
            // The last failure is what the count is about.
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

    /// Leaves a plan behind as a killed process does.
    private func leave(_ plan: TokenPlan, _ keychain: Keychain) throws {
        let keys = try keychain.keys()
        let intent = try keys.sealPlan(
            plan, identity: RandomBytes.secret(count: 16).copyData(), vault: keychain.store.identity)
        _ = try keychain.store.write(keys.tree) { try $0.insert(intent) }
    }

    @Test func `an interrupted renaming is taken back, but not over a name that was given since`() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        let objects = try ["one", "two"].map { try #require(keychain.generateKey(.aes(bits: 256), label: $0).item.object) }
        try leave(
            TokenPlan(kind: .relabel, objects: objects.map { TokenPlan.Object($0, newLabel: Data("new".utf8), among: objects) }), keychain)
        try keychain.token.withSession(.change) { session in
            for (object, label) in zip(objects, ["new", "somebody else's"]) {
                try session.setAttributes([.label(label)], of: keychain.token.verifiedHandle(of: object, in: session))
            }
        }
        #expect(try Set(test.reopen().find(.keys).compactMap(\.label)) == ["one", "somebody else's"])
        #expect(try intents(keychain) == 0)
    }

    @Test func `an interrupted removal is finished, rows and all, and spares everything else`() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        let doomed = try keychain.generateKey(.p256, label: "doomed")
        _ = try keychain.generateKey(.p256, label: "spared")
        let objects = try keychain.token.readObjects().objects.filter { $0.id == doomed.item.object?.id }
        #expect(objects.count == 2)
        try leave(
            TokenPlan(
                kind: .destroy, objects: objects.map { TokenPlan.Object($0) },
                rows: [#require(doomed.reference).identity]),
            keychain)
        let other = try test.reopen()
        #expect(try other.find(.keys).compactMap(\.label) == ["spared", "spared"])
        #expect(try other.store.read { try ($0.intents().count, $0.rowCount()) } == (0, 1))
        #expect(try test.tool(["-O"]).stdout.contains("keyfob-wrap-1"))
    }

    @Test(arguments: [TokenPlan.Kind.create, .destroy])
    func `what another keychain on the token has taken over since is spared`(kind: TokenPlan.Kind) throws {
        let directory = try TemporaryDirectory()
        let token = try TestToken.make(label: "shared")
        let module = try FaultyModule(in: directory)
        let first = try Self.create(on: token, by: module, in: directory)
        let source = PINSource.file(directory.file("pin"))
        let second = try Keychains(first.directories).create(
            "second", on: .existing(token.uri, .path(module.path), pin: token.pin, pinSource: source)).keychain
        try second.add(GenericPassword(service: "a"), secret: SecretBytes(utf8: "secret"))
        for label in ["taken", "own"] { _ = try first.generateKey(.p256, label: label) }
        try second.update(.key(label: "taken").keyClass(.private), [.applicationTag: "second's"])
        for label in ["taken", "own"] {
            let objects = try first.token.readObjects().objects.filter { $0.label?.text == label }
            #expect(objects.count == 2)
            try leave(TokenPlan(kind: kind, objects: objects.map { TokenPlan.Object($0) }), first)
        }
        let healed = try Keychains(first.directories).open(token.label)
        try healed.unlock()
        #expect(try intents(healed) == 0)
        let left = try healed.token.readObjects().objects.filter { $0.objectClass != .secretKey }
        #expect(left.compactMap { $0.label?.text } == ["taken", "taken"])
        let key = try second.only(.key(label: "taken").keyClass(.private))
        #expect(try !second.tokenKey(for: key).sign([1], using: .ecdsa(.sha256)).isEmpty)
    }

    @Test func `what somebody has renamed since its removal began is spared on a token of others`() throws {
        let directory = try TemporaryDirectory()
        let token = try TestToken.make(label: "renamed")
        let module = try FaultyModule(in: directory)
        let keychain = try Self.create(on: token, by: module, in: directory)
        let objects = try ["one", "two"].map {
            try #require(keychain.generateKey(.aes(bits: 256), label: $0).item.object)
        }
        for object in objects { try leave(TokenPlan(kind: .destroy, objects: [TokenPlan.Object(object)]), keychain) }
        try keychain.token.withSession(.change) { session in
            try session.setAttributes(
                [.label("somebody else's")], of: keychain.token.verifiedHandle(of: objects[0], in: session))
        }
        let healed = try Keychains(keychain.directories).open(token.label)
        try healed.unlock()
        #expect(try healed.find(.keys).compactMap(\.label) == ["somebody else's"])
        #expect(try intents(healed) == 0)
    }

    @Test func `keychains on one token wait for each other, and are told for which token`() throws {
        let directory = try TemporaryDirectory()
        let token = try TestToken.make(label: "waiting")
        let module = try FaultyModule(in: directory)
        let keychain = try Self.create(on: token, by: module, in: directory)
        let shared = SharedToken(of: keychain)
        var options = Keychain.Options()
        options.timeout = .seconds(3)
        let other = try Keychains(keychain.directories).open(token.label, options: options)
        try other.unlock()
        // As another keychain of the same token does.
        try shared.withLock(until: .never) {
            let error = #expect(throws: KeychainError.self) { _ = try other.generateKey(.p256, label: "key") }
            #expect(error?.code == .vaultBusy && error?.message.contains(token.label) == true, "\(error as Any)")
        }
        _ = try keychain.generateKey(.p256, label: "key")
    }

    @Test func `a token that does not obey is an error, and its object is gone`() throws {
        let test = try TestKeychain()
        try test.keychain.token.withSession(.create) { session in
            let template: AttributeTemplate = [
                .objectClass(.secretKey), .keyType(.aes), .token(true), .isPrivate(true), .sensitive(false),
                .extractable(true),
                .id([5]), .secret(.value, SecretBytes([UInt8](repeating: 1, count: 32))),
            ]
            let handle = try session.create(template)
            // Asked for more than the token gave.
            let asked: AttributeTemplate = [.sensitive(true), .extractable(false), .id([5])]
            #expect(code { try AttributeReadBack.check(handle, asked, in: session, token: "t") } == .tokenDisobeyed)
            #expect(try session.findObjects([.id([5])]).isEmpty)
        }
    }

    @Test(arguments: [KeySpecification.p256, .aes(bits: 256)])
    func `what a token neither protects nor lets go is told of, and removed when it can be`(
        kind: KeySpecification
    ) throws {
        let directory = try TemporaryDirectory()
        let token = try TestToken.make(label: "lax")
        let module = try FaultyModule(in: directory)
        let keychain = try Self.create(on: token, by: module, in: directory)
        func count() throws -> Int {
            try keychain.token.readObjects().objects.count { $0.objectClass != .publicKey && $0.label?.text == "weak" }
        }
        try module.say("lax keep=0")
        let error = #expect(throws: KeychainError.self) { _ = try keychain.generateKey(kind, label: "weak") }
        #expect(error?.code == .tokenDisobeyed, "\(error as Any)")
        #expect(error?.hint?.contains("could not be removed at once. If it is still there") == true, "\(error as Any)")
        #expect((error?.cause as? PKCS11Error)?.function == .destroyObject)
        #expect(try count() == 1 && intents(keychain) == 1)
        try module.say("")
        _ = try keychain.generateKey(.p256, label: "other")
        #expect(try count() == 0 && intents(keychain) == 0)

        // What is let go at the second try is told of in the same words.
        try module.say("lax cling=1")
        let second = #expect(throws: KeychainError.self) { _ = try keychain.generateKey(kind, label: "weak") }
        #expect(second?.code == .tokenDisobeyed && second?.hint == error?.hint, "\(second as Any)")
        #expect(try count() == 0 && intents(keychain) == 0)

        // What is never let go stands in nobody's way, and is shown.
        try module.say("lax keep=0")
        #expect(code { _ = try keychain.generateKey(kind, label: "weak") } == .tokenDisobeyed)
        try module.say("keep=0")
        _ = try keychain.generateKey(.p256, label: "another")
        #expect(try count() == 1 && intents(keychain) == 0)
        #expect(try keychain.find(.keys).contains { $0.label == "weak" })
    }
}
