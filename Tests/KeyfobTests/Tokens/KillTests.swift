import Foundation
import KeyfobPrimitives
import KeyfobTesting
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// Processes killed at any instant leave complete items or none.
@Suite struct KillTests {
    static let rounds = 60
    static let renewalRounds = 25

    /// Checks after a kill that every listed item is complete.
    ///
    /// - Returns: The objects on the token except those that the killed change has left.
    private func checkWhole(_ keychain: Keychain) throws -> [TokenObject] {
        try keychain.unlock()
        let keys = try keychain.vaultKeys()
        let unfinished = try keychain.store.read(keys.tree) { try $0.unfinishedObjects(keys) }
        #expect(unfinished.allSatisfy { $0.state == .pending })
        let objects = try keychain.token.readObjects().objects.filter { object in
            !unfinished.contains { $0.matches(object) }
        }
        #expect(!objects.contains { $0.id.isEmpty && $0.label == nil })
        let privateKeys = Set(objects.filter { $0.objectClass == .privateKey }.map(\.id))
        let publicKeys = Set(objects.filter { $0.objectClass == .publicKey }.map(\.id))
        #expect(privateKeys == publicKeys)
        // Rows and objects correspond one to one.
        let rows = try Set(keychain.tokenItems.rows(.key, keys).keys).union(keychain.tokenItems.rows(.certificate, keys).keys)
        let recorded = objects.filter { $0.objectClass == .privateKey || $0.objectClass == .certificate }.map(
            \.fingerprint)
        #expect(rows == Set(recorded))
        #expect(recorded.count == Set(recorded).count)
        #expect(try Set(keychain.integrity.findings().map(\.code)).isSubset(of: [.objectUnlisted, .objectUnreadable]))
        // Tests both ways to recover: the next change adopts the remains, or a check removes them.
        if Bool.random() { _ = try keychain.integrity.removeUnlistedObjects() }
        return objects
    }

    /// Returns the microseconds that a child of this kind needs for three changes on this machine.
    ///
    /// Kills at fixed times would hit nothing on a slow machine, and always the same step on a fast one.
    private func timeOfThreeChanges(_ test: TestKeychain, _ work: [String]) throws -> UInt32 {
        let child = try Child(test, work)
        #expect(child.line() == "ready")
        let start = Date()
        var changes = 0
        while changes < 3, let line = child.line() { changes += line.hasPrefix("<") ? 1 : 0 }
        let elapsed = Date().timeIntervalSince(start)
        try #require(changes == 3)
        _ = child.kill9()
        // At most two seconds, about a hundred times the usual time.
        return UInt32(min(elapsed, 2) * 1_000_000)
    }

    /// Tests Keyfob's own call, and `SecItemAdd` and `SecItemDelete`.
    @Test(arguments: [("identities", 60), ("services", 30)])
    func `an import or removal of an identity is complete or absent after a kill at any instant`(
        way: String, rounds: Int
    ) throws {
        let test = try TestKeychain()
        let directory = try TemporaryDirectory()
        let count = 4
        var hashes: [Data] = []
        for index in 0..<count {
            let certificate = try TestCertificate("host\(index).example")
            try directory.write(certificate.der, to: "\(index).der")
            try directory.write(certificate.keyPEM, to: "\(index).pem")
            hashes.append(try Certificate(der: certificate.der).publicKey.identifier)
        }
        var completed = 0
        let work = [way, directory.path, "\(count)"]
        let window = try timeOfThreeChanges(test, work)
        var present = Set(try test.reopen().find(.identities).compactMap { identity in
            try hashes.firstIndex(of: identity.certificate().publicKey.identifier)
        })
        for round in 0..<rounds {
            let child = try Child(test, work)
            #expect(child.line() == "ready")
            var pending: Int?
            for line in child.killAtRandom(within: window, afterAChange: round == 0) {
                let index = try #require(Int(line.dropFirst(2)))
                pending = line.hasPrefix(">") ? index : nil
                guard line.hasPrefix("<") else { continue }
                completed += 1
                if line.hasPrefix("<+") { present.insert(index) } else { present.remove(index) }
            }
            let keychain = try test.reopen()
            let objects = try checkWhole(keychain)
            let found = Set(try keychain.find(.identities).compactMap { identity in
                try hashes.firstIndex(of: identity.certificate().publicKey.identifier)
            })
            #expect(found.symmetricDifference(present).isSubset(of: pending.map { [$0] } ?? []))
            #expect(objects.filter { $0.objectClass == .certificate }.count == found.count)
            #expect(objects.filter { $0.objectClass == .privateKey }.count == found.count)
            present = found
        }
        print("\(way): \(rounds) kills between \(completed) completed changes")
        #expect(completed > 0)
    }

    @Test func `a generated key is complete or absent after a kill at any instant`() throws {
        let test = try TestKeychain()
        let window = try timeOfThreeChanges(test, ["keys", "first"])
        var done = Set(try test.reopen().find(.keys.keyClass(.private)).compactMap(\.label))
        for round in 0..<Self.rounds {
            let child = try Child(test, ["keys", "r\(round)"])
            #expect(child.line() == "ready")
            var pending: String?
            var added: Set<String> = []
            for line in child.killAtRandom(within: window) {
                let label = String(line.dropFirst(2))
                pending = line.hasPrefix(">") ? label : nil
                if line.hasPrefix("<") { added.insert(label) }
            }
            let keychain = try test.reopen()
            _ = try checkWhole(keychain)
            let found = Set(try keychain.find(.keys.keyClass(.private)).compactMap(\.label))
            #expect(found.symmetricDifference(added.union(done)).isSubset(of: pending.map { [$0] } ?? []))
            done = found
            // A few keys are enough; every object slows SoftHSM down.
            if found.count > 12 {
                try keychain.delete(.keys)
                done = []
            }
        }
    }

    @Test func `after a kill at any instant, several items have either all their new data or all their old data`() throws {
        let test = try TestKeychain()
        let directory = try TemporaryDirectory()
        let keys = try (0..<3).map { _ in try PrivateKey.generate(.ec(.p256)) }
        for (index, key) in keys.enumerated() {
            try directory.write(key.rawRepresentation().copyBytes(), to: "\(index).key")
            _ = try test.keychain.keys.add(
                keys[0], [.applicationTag: .string("tag \(index)"), .accessGroup: ""], isExtractable: true)
        }
        let work = ["replacements", directory.path, "\(keys.count)"]
        let window = try timeOfThreeChanges(test, work)
        func present(_ keychain: Keychain) throws -> Int {
            let items = try keychain.find(.keys.keyClass(.private))
            #expect(items.count == 3)
            let found = Set(try items.map { try keychain.keys.export($0.item).publicKey })
            #expect(found.count == 1)
            return try #require(keys.firstIndex { $0.publicKey == found.first })
        }
        var last = try present(try test.reopen())
        var completed = 0
        for round in 0..<Self.renewalRounds {
            let child = try Child(test, work)
            #expect(child.line() == "ready")
            var possible: Set<Int> = [last]
            for line in child.killAtRandom(within: window, afterAChange: round == 0) {
                let index = try #require(Int(line.dropFirst(2)))
                if line.hasPrefix(">") { possible.insert(index) } else { possible = [index] }
                completed += line.hasPrefix("<") ? 1 : 0
            }
            let keychain = try test.reopen()
            let objects = try checkWhole(keychain)
            for half in [ObjectClass.privateKey, .publicKey] { #expect(objects.count { $0.objectClass == half } == 1) }
            last = try present(keychain)
            #expect(possible.contains(last))
        }
        print("replacements: \(Self.renewalRounds) kills between \(completed) completed changes")
        #expect(completed > 0)
    }

    @Test func `the record of the rows is correct after a kill at any instant`() throws {
        let test = try TestKeychain()
        // Measured as in `timeOfThreeChanges`, but this child does not report single changes.
        let first = try Child(test, ["mixed", "first", "20"])
        #expect(first.line() == "ready")
        let start = Date()
        #expect(first.waitForEnd().lines == ["done"])
        let window = UInt32(min(Date().timeIntervalSince(start), 2) * 1_000_000)
        let before = try test.keychain.store.read { try $0.rowCount() }
        var killed = 0
        for round in 0..<Self.rounds {
            let child = try Child(test, ["mixed", "r\(round)", "1000"])
            #expect(child.line() == "ready")
            usleep(.random(in: 0...window))
            if child.kill9().last != "done" { killed += 1 }
            let keychain = try test.reopen()
            #expect(try Set(keychain.integrity.findings().map(\.code)).isSubset(of: [.objectUnlisted, .objectUnreadable]))
            for item in try keychain.find(.genericPasswords).suffix(3) {
                #expect(try keychain.secret(of: item) == SecretBytes(item.service))
            }
        }
        #expect(killed > 0)
        #expect(try test.keychain.store.read { try $0.rowCount() } > before)
    }

    @Test func `a renewed identity has one version in use after a kill at any instant`() throws {
        let test = try TestKeychain()
        _ = try test.keychain.identities.create("web", .server("web"), issuer: SelfIssuer())
        let key = Criteria(.key, [.keyClass: .number(KeyClass.private.rawValue)])
        for half in [Criteria(.certificate), key] { _ = try test.keychain.update(half, [.accessGroup: "group"]) }
        let window = try timeOfThreeChanges(test, ["renewals", "web"])
        var before = try test.reopen().only(.identity(label: "web")).der
        var completed = 0
        var changed = 0
        for round in 0..<Self.renewalRounds {
            let child = try Child(test, ["renewals", "web"])
            #expect(child.line() == "ready")
            completed += child.killAtRandom(within: window, afterAChange: round == 0).filter { $0 == "<r" }.count
            let keychain = try test.reopen()
            let objects = try checkWhole(keychain)
            let found = try keychain.find(.identity(label: "web"))
            try #require(found.count == 1)
            #expect(found[0].key.label == "web")
            // The identity, its certificate and its key stay visible to their access group.
            #expect(found[0].attributes[.accessGroup] == "group")
            #expect(try keychain.find(.certificate(label: "web")).map { $0.attributes[.accessGroup] } == ["group"])
            let signature = try keychain.keys.tokenKey(for: found[0]).sign([1, 2, 3], using: .ecdsa(.sha256))
            #expect(try found[0].certificate().publicKey.verify(signature, of: [1, 2, 3], using: .ecdsa(.sha256)))
            // At most one key has no certificate. The keys of versions that are not retired have theirs.
            let keys = objects.filter { $0.objectClass == .privateKey }
            let certified = Set(objects.filter { $0.objectClass == .certificate }.compactMap(\.publicKeyHash))
            #expect(keys.filter { !certified.contains($0.id) }.count <= 1)
            // Versions accumulate if none is retired in time; every object slows SoftHSM down.
            if keys.count > 6 {
                for version in try keychain.identities.versions(of: "web").dropFirst() { try keychain.identities.retire(version) }
            }
            if found[0].der != before { changed += 1 }
            before = found[0].der
        }
        print("renewals: \(Self.renewalRounds) kills between \(completed) completed renewals, \(changed) with another version than before")
        #expect(completed > 0)
    }

    @Test func `an emptied token file is repaired when the keychain is opened, and its keys work`() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        try keychain.add(GenericPassword(service: "s", account: "a"), secret: SecretBytes("secret"))
        let directory = SoftHSMDirectory(directories: test.directories)
        let token = try #require(directory.tokens().first { $0.label == keychain.name })
        let file = token.directory.appendingPathComponent("token.object")
        try Data().write(to: file)
        let child = try Child(test, ["mixed", "after", "4"])
        let end = child.waitForEnd()
        #expect(end.status == 0 && end.lines == ["ready", "done"])
        let item = try #require(keychain.find(.genericPassword(service: "s")).first)
        #expect(try keychain.secret(of: item) == SecretBytes("secret"))
    }
}
