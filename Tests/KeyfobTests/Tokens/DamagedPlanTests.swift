import Foundation
import GRDB
import KeyfobPrimitives
import OpenSSL
import PKCS11
import Testing

@testable import Keyfob

/// Plans of interrupted changes that were damaged since.
@Suite struct DamagedPlanTests {
    /// Leaves a plan behind as a killed process does, and damages it where that is wanted.
    private func leave(_ plan: TokenPlan, in test: TestKeychain, damaged damage: String? = nil) throws {
        let keychain = test.keychain
        let keys = try keychain.keys()
        let intent = try keys.sealPlan(plan, identity: Data(count: 16), vault: keychain.store.identity)
        let id = try keychain.store.write(keys.tree) { try $0.insert(intent) }
        guard let damage else { return }
        try test.sql { try $0.execute(sql: "UPDATE intent SET \(damage) WHERE id = ?", arguments: [id]) }
    }

    /// A plan that would take a private key away which nobody has made.
    private var plan: TokenPlan {
        TokenPlan(
            kind: .create,
            objects: [TokenPlan.Object(objectClass: ObjectClass.privateKey.rawValue, ids: [Data([0x0D])])])
    }

    @Test(arguments: [
        "plan_tag = zeroblob(16)", "plan_iv = x''", "plan_ciphertext = x'00'", "plan_ciphertext = 5",
        "identity = zeroblob(3)", "identity = 7", "identity = 'text'",
    ])
    func `a damaged plan hides nothing, stops changes alone, and goes when that is asked for`(damage: String) throws {
        let test = try TestKeychain()
        _ = try test.keychain.createIdentity("web", .server("web"), issuer: SelfIssuer())
        try leave(plan, in: test, damaged: damage)
        let keychain = try test.reopen()
        #expect(try keychain.find(.identities).map(\.label) == ["web"])
        #expect(try keychain.find(.certificates).map(\.label) == ["web"])
        #expect(try !keychain.find(.keys).isEmpty)
        #expect(keychain.lockState.withLock { $0.damagedPlans.count } == 1)
        #expect(try test.reopen().vaultFindings().map(\.code) == [.intentDamaged])

        let error = #expect(throws: KeychainError.self) { _ = try keychain.generateKey(.p256, label: "key") }
        #expect(error?.code == .vaultDamaged, "\(error as Any)")
        let command = "keyfob keychain check \(keychain.name) --remove-damaged"
        #expect(error?.hint?.contains(command) == true, "\(error as Any)")
        try keychain.add(GenericPassword(service: "a"), secret: SecretBytes("x"))

        // It is none of the items, which are taken as they are.
        #expect(try keychain.acceptVault() == keychain.store.read { try $0.rowCount() })
        #expect(try keychain.vaultFindings().map(\.code) == [.intentDamaged])
        #expect(try keychain.removeDamagedItems().map(\.code) == [.intentDamaged])
        #expect(try keychain.vaultFindings().isEmpty)
        _ = try keychain.generateKey(.p256, label: "key")
        #expect(try keychain.find(.keys).contains { $0.label == "key" })
    }

    @Test func `a plan beside a damaged one is settled`() throws {
        let test = try TestKeychain()
        let doomed = try test.keychain.generateKey(.aes(bits: 128), label: "doomed")
        let object = try #require(doomed.item.object)
        try leave(plan, in: test, damaged: "plan_tag = zeroblob(16)")
        try leave(
            TokenPlan(
                kind: .destroy, objects: [TokenPlan.Object(object)], rows: [#require(doomed.reference).identity]),
            in: test)
        let other = try test.reopen()
        #expect(try other.find(.keys).isEmpty)
        #expect(try other.store.read { try ($0.intents().count, $0.rowCount()) } == (1, 0))
        #expect(try other.vaultFindings().map(\.code) == [.intentDamaged])
    }

    @Test func `what is gone from the token is told of beside a damaged plan`() throws {
        let test = try TestKeychain()
        let identity = try test.keychain.createIdentity("web", .server("web"), issuer: SelfIssuer()).identity
        try leave(plan, in: test, damaged: "plan_tag = zeroblob(16)")
        let id = try identity.certificate().publicKey.identifier.hexadecimal
        try test.tool(["--delete-object", "--type", "cert", "--id", id])
        #expect(try test.reopen().vaultFindings().map(\.code) == [.intentDamaged, .objectAbsent])
    }
}
