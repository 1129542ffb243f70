import Foundation
import KeyfobPrimitives
import OpenSSL
import PKCS11
import Testing

@testable import Keyfob

/// Plans that a backup of the vault brings along, told from those that a kill has left.
@Suite struct PlanWitnessTests {
    private func witnesses(_ test: TestKeychain) throws -> [String] {
        let vault = URL(fileURLWithPath: test.configuration.vault)
        return try FileManager.default.contentsOfDirectory(atPath: vault.deletingLastPathComponent().path)
            .filter { $0.hasPrefix(vault.lastPathComponent + ".plan-") }
    }

    private func intents(_ keychain: Keychain) throws -> Int { try keychain.store.read { try $0.intents().count } }

    /// Copies the vault in the middle of the import of a certificate, which comes to its end then.
    private func backUpDuringImport(of certificate: Certificate, in test: TestKeychain) throws -> [(String, Data)] {
        let keychain = test.keychain
        let new = NewObject(certificate: certificate, label: .string("web"))
        var copies: [(String, Data)] = []
        try keychain.writer(keychain.keys()).perform(.create) { _ in
            TokenPlan(
                kind: .create,
                objects: [
                    TokenPlan.Object(
                        objectClass: ObjectClass.certificate.rawValue, ids: [certificate.publicKey.identifier],
                        fingerprint: new.fingerprint)
                ])
        } change: { session, _ in
            copies = try test.vaultFiles.filter { FileManager.default.fileExists(atPath: $0) }
                .map { ($0, try Data(contentsOf: URL(fileURLWithPath: $0))) }
            _ = try session.create(new.template)
            return TokenWriter.Outcome()
        } commit: { _, _ in
        }
        return copies
    }

    @Test func `a backup from the middle of an import takes nothing off the token when it is put back`() throws {
        let test = try TestKeychain()
        let certificate = try Certificate(der: TestCertificate("web").der)
        let backup = try backUpDuringImport(of: certificate, in: test)
        #expect(try test.keychain.find(.certificates).map(\.der) == [certificate.der])
        #expect(try intents(test.keychain) == 0 && witnesses(test).isEmpty)

        // Whoever has the old files open keeps those.
        for file in test.vaultFiles { try? FileManager.default.removeItem(atPath: file) }
        for (file, bytes) in backup { try bytes.write(to: URL(fileURLWithPath: file)) }
        let restored = try test.reopen()
        #expect(try intents(restored) == 1)
        try restored.unlock()
        #expect(try restored.find(.certificates).map(\.der) == [certificate.der])
        #expect(try intents(restored) == 0)
    }

    enum Origin: CaseIterable {
        /// As it was made.
        case original
        /// The vault was put back without it.
        case missing
        /// It came out of the backup with the vault.
        case restored
    }

    @Test(arguments: Origin.allCases)
    func `a removal is finished where a kill has left its plan, and nowhere else`(origin: Origin) throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        let key = try keychain.generateKey(.aes(bits: 128), label: "key")
        let object = try #require(key.item.object)
        let keys = try keychain.keys()
        let identity = Data(1...16)
        let witness = Witness(ofPlan: identity, in: test.configuration.vault)
        var plan = TokenPlan(
            kind: .destroy, objects: [TokenPlan.Object(object)], rows: [try #require(key.reference).identity])
        plan.witness = try witness.make()
        let intent = try keys.sealPlan(plan, identity: identity, vault: keychain.store.identity)
        _ = try keychain.store.write(keys.tree) { try $0.insert(intent) }
        let name = try #require(witnesses(test).first)
        let path = URL(fileURLWithPath: test.configuration.vault).deletingLastPathComponent().path + "/" + name
        switch origin {
        case .original: break
        case .missing: try FileManager.default.removeItem(atPath: path)
        case .restored:
            // With the times of what was copied, as backups have them. A witness is known by the second of its last
            // change: until that is another one, by the kernel's clock of files.
            let times = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate]
            while witness.isOriginal(of: try #require(plan.witness)) {
                usleep(20_000)
                try FileManager.default.removeItem(atPath: path)
                #expect(FileManager.default.createFile(atPath: path, contents: Data()))
                try FileManager.default.setAttributes([.modificationDate: #require(times)], ofItemAtPath: path)
            }
        }
        let reopened = try test.reopen()
        try reopened.unlock()
        let isFinished = origin == .original
        #expect(try reopened.find(.keys).map(\.label) == (isFinished ? [] : ["key"]))
        #expect(try reopened.store.read { try $0.rowCount() } == (isFinished ? 0 : 1))
        #expect(try intents(reopened) == 0 && witnesses(test).isEmpty)
    }

    @Test func `what a kill leaves of witnesses alone is cleared away, and none outlasts its change`() throws {
        let test = try TestKeychain()
        _ = try Witness(ofPlan: Data(repeating: 7, count: 16), in: test.configuration.vault).make()
        #expect(try witnesses(test).count == 1)
        let key = try test.keychain.generateKey(.p256, label: "key")
        #expect(try witnesses(test).isEmpty)
        // A change that fails is undone.
        _ = try test.keychain.createIdentity("web", .server("web"), issuer: SelfIssuer())
        #expect(code { _ = try test.keychain.createIdentity("web", .server("web"), issuer: SelfIssuer()) } != nil)
        try test.keychain.delete(key)
        #expect(try witnesses(test).isEmpty)
    }
}
