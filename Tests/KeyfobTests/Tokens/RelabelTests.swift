import Foundation
import KeyfobPrimitives
import KeyfobTesting
import OpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// Labels that change while processes are killed, others look, and others use the key.
@Suite struct RelabelTests {
    static let rounds = 150

    /// Of every kind one, under one label.
    private func fill(_ keychain: Keychain) throws {
        let certificate = try TestCertificate("host.example")
        _ = try keychain.importIdentity(
            key: PrivateKey.load(certificate.keyPEM), certificate: Certificate(der: certificate.der), label: "l-0")
        _ = try keychain.generateKey(.rsa(bits: 2048), label: "l-0")
        _ = try keychain.generateKey(.aes(bits: 256), label: "l-0")
    }

    private func labels(_ objects: [TokenObject]) -> [ObjectClass: [String?]] {
        Dictionary(grouping: objects, by: \.objectClass).mapValues { $0.map(\.label?.text) }
    }

    @Test func `a key whose label changes is there exactly once after a kill at any instant`() throws {
        let test = try TestKeychain()
        try fill(test.keychain)
        let references = try Set(test.keychain.find(.keys).compactMap { $0.reference?.identity })
        let fingerprints = try Set(test.keychain.token.readObjects().objects.map(\.fingerprint))
        let message = Array("message".utf8)
        var completed = 0
        var settled = 0
        // Two changes here and now: kills at fixed times meet nothing where the machine is slow.
        let first = try Child(test, ["labels", "l"])
        #expect(first.line() == "ready")
        let start = Date()
        while let line = first.line(), !line.hasPrefix("<") {}
        let window = UInt32(min(Date().timeIntervalSince(start), 1) * 2_000_000)
        _ = first.kill9()
        for _ in 0..<Self.rounds {
            let child = try Child(test, ["labels", "l"])
            #expect(child.line() == "ready")
            usleep(.random(in: 0...window))
            completed += child.kill9().filter { $0.hasPrefix("<") }.count
            settled += try test.keychain.store.read { try $0.intents().count }
            let keychain = try test.reopen()
            try keychain.unlock()
            #expect(try keychain.store.read { try $0.intents().count } == 0)
            let listing = try keychain.token.readObjects()
            let (objects, debris) = (listing.objects, listing.debris)
            let own = objects.filter { $0.label?.text?.hasPrefix("l-") ?? true }
            try #require(
                debris == 0 && Set(objects.map(\.fingerprint)) == fingerprints && own.count == 6, "\(labels(objects))")
            let keys = own.filter { $0.objectClass != .certificate }
            #expect(Set(keys.map(\.label)).count == 1, "\(labels(own))")
            #expect(try Set(keychain.find(.keys).compactMap { $0.reference?.identity }) == references)
            for key in own where key.objectClass == .privateKey {
                #expect(key.flags.isSuperset(of: [.isPrivate, .sensitive, .sign]) && !key.flags.contains(.extractable))
            }
            let identity = try keychain.only(.identity())
            let signature = try keychain.tokenKey(for: identity).sign(message, using: .ecdsa(.sha256))
            #expect(try identity.certificate().publicKey.verify(signature, of: message, using: .ecdsa(.sha256)))
            let rsa = try keychain.only(.keys.keyClass(.private).having(.type, .number(KeyAlgorithmType.rsa.rawValue)))
            #expect(try !keychain.tokenKey(for: rsa).sign(message, using: .rsaPKCS1(.sha256)).isEmpty)
            #expect(try keychain.vaultFindings().isEmpty)
        }
        print("labels: \(Self.rounds) kills between \(completed) completed changes, \(settled) left a plan")
        #expect(completed > 0 && settled > 0)
    }

    @Test func `who looks while labels change sees each object once`() throws {
        let test = try TestKeychain()
        try fill(test.keychain)
        let locked = try test.reopen()
        let count = try test.keychain.find(.keys).count
        let child = try Child(test, ["labels", "l"])
        #expect(child.line() == "ready")
        var seen: Set<String?> = []
        // For four seconds, or until a busy machine has come as far; for four minutes at most.
        let (end, last) = (Deadline.after(.seconds(4)), Deadline.after(.seconds(240)))
        while !end.hasPassed || (seen.count <= 6 && !last.hasPassed) {
            let keys = try test.keychain.find(.keys)
            #expect(keys.count == count && Set(keys.map(\.label)).count == 1, "\(keys.map(\.label))")
            let identities = try test.keychain.find(.identities)
            #expect(identities.count == 1)
            seen.insert(identities.first?.label)
            #expect(try locked.index.objects(nil).filter { $0.objectClass == .certificate }.count <= 2)
            #expect(try locked.publicObjects().filter { $0.objectClass == .certificate }.count == 1)
        }
        #expect(child.kill9().count > 10 && seen.count > 3)
    }

    @Test func `a program that uses a key goes on while its label changes`() throws {
        let test = try TestKeychain()
        try fill(test.keychain)
        let object = try #require(test.keychain.only(.identity()).item.object)
        let token = test.keychain.token
        let message = Array("message".utf8)
        /// A handle that nobody looks up again, as nginx and the others keep it, and in which generation it holds.
        func find() throws -> (handle: ObjectHandle, generation: Int?) {
            let generation = token.generation
            // Not that of the copy, which is there while the label changes.
            let handle = try token.readingObjects {
                try token.withSession(.read) { try token.verifiedHandle(of: object, in: $0) }
            }
            return (handle, generation)
        }
        var known = try find()
        let child = try Child(test, ["labels", "l", "30"])
        var lines: Set<String> = []
        while let line = child.line() {
            lines.insert(line)
            var signature: [UInt8]?
            while signature == nil {
                let (handle, generation) = known
                do {
                    signature = try token.withSession(.sign, idempotent: false) { session -> [UInt8]? in
                        // In another one the number may be that of a key of another kind.
                        guard token.generation == generation else { return nil }
                        return try session.sign(message, with: handle, using: Mechanism(.ecdsa))
                    }
                } catch {
                    guard token.generation != generation else { throw error }
                }
                // Other tests of this process initialise SoftHSM anew, which no handle survives.
                if signature == nil { known = try find() }
            }
            #expect(signature?.count == 64)
        }
        #expect(lines.contains("<l-29") && child.waitForEnd().status == 0)
        #expect(try test.keychain.only(.identity()).label == "l-29")
    }

    /// Where a kill has come: the labels of the object and of its copy, as far as they are there.
    struct Remains: CustomTestStringConvertible {
        var object: String?
        var copy: String?
        var expected = "old"
        var testDescription: String { "\(object ?? "lost") and \(copy ?? "no copy")" }
    }

    static let remains = [
        Remains(object: "old"), Remains(object: "old", copy: "old"), Remains(object: "old", copy: "new"),
        Remains(copy: "new"), Remains(copy: "old"), Remains(object: "new", copy: "new"), Remains(object: "new"),
        Remains(object: "new", copy: "old"), Remains(object: "another's", expected: "another's"),
        Remains(object: "another's", copy: "new", expected: "another's"),
    ]

    @Test(arguments: remains) func `what a kill has left becomes the one object again`(remains: Remains) throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        let key = try keychain.generateKey(.p256, label: "old")
        let object = try #require(key.item.object)
        let keys = try keychain.keys()
        let plan = TokenPlan(
            kind: .relabel, objects: [TokenPlan.Object(object, newLabel: Data("new".utf8), among: [object])])
        let intent = try keys.sealPlan(plan, identity: Data(count: 16), vault: keychain.store.identity)
        _ = try keychain.store.write(keys.tree) { try $0.insert(intent) }
        try keychain.token.withSession(.change) { session in
            let handle = try keychain.token.verifiedHandle(of: object, in: session)
            if let label = remains.copy { _ = try session.copy(handle, changing: [.label(label)]) }
            if let label = remains.object {
                try session.setAttributes([.label(label)], of: handle)
            } else {
                try session.destroy(handle)
            }
        }
        keychain.token.forgetHandles()
        // Before it is settled, too.
        #expect(try keychain.find(.keys.keyClass(.private)).map(\.label) == ["old"])

        let other = try test.reopen()
        try other.unlock()
        let found = try other.token.readObjects().objects.filter { $0.objectClass == .privateKey }
        #expect(found.map(\.label?.text) == [remains.expected])
        #expect(found.first?.relabelled(nil) == object.relabelled(nil))
        #expect(found.first?.flags.isSuperset(of: [.neverExtractable, .alwaysSensitive, .local]) == true)
        let item = try other.item(#require(key.reference))
        #expect(item.object?.isSame(as: object) == true)
        #expect(try !other.tokenKey(for: KeyItem(item: item)).sign([1], using: .ecdsa(.sha256)).isEmpty)
        #expect(try other.store.read { try $0.intents().isEmpty })
    }

    @Test(arguments: [AttributeType.copyable, .destroyable])
    func `an object that the token does not copy, or would not let go, is changed in place`(
        refused: AttributeType
    ) throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        try keychain.token.withSession(.create) { session in
            _ = try session.create([
                .objectClass(.secretKey), .keyType(.aes), .token(true), .isPrivate(true), .label("old"), .id([9]),
                .bool(refused, false), .secret(.value, SecretBytes([UInt8](repeating: 1, count: 16))),
            ])
        }
        try keychain.update(Query<KeyItem>(), [.label: "new"])
        let found = try keychain.token.readObjects().objects.filter { $0.id == Data([9]) }
        #expect(found.map(\.label?.text) == ["new"])
        #expect(try keychain.store.read { try $0.intents().isEmpty })
    }

    @Test func `two objects that nothing tells apart stay two`() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        let certificate = NewObject(
            certificate: try Certificate(der: TestCertificate("twin.example").der), label: .string("old"))
        try keychain.token.withSession(.create) { session in
            for _ in 0..<2 { _ = try session.create(certificate.template) }
        }
        try keychain.update(Query<CertificateItem>(), [.label: "new"])
        let found = try keychain.token.readObjects().objects.filter { $0.objectClass == .certificate }
        #expect(found.count == 2 && found.contains { $0.label?.text == "new" })
    }
}
