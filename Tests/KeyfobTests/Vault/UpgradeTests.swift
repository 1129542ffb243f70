import Foundation
import GRDB
import KeyfobPrimitives
import KeyfobTesting
import TestSupport
import Testing

@testable import Keyfob

/// Vaults of format 1, which had no record of their rows.
@Suite struct UpgradeTests {
    /// Makes of a vault what the program of format 1 would have left.
    private func downgrade(_ test: TestKeychain) throws {
        let keys = try test.keychain.keys()
        let rows = try test.keychain.store.read(keys.tree) { reader in
            var rows: [SealedRow] = []
            for itemClass in ItemClass.allCases {
                try reader.forEachRow(classDigest: keys.digest(of: itemClass), terms: [], withSecrets: false) { row in
                    rows.append(row)
                    return true
                }
            }
            return rows
        }
        try test.sql { db in
            for row in rows {
                let (itemClass, attributes) = try keys.openAttributes(row)
                let sealed = try keys.seal(
                    attributes.encoded,
                    AdditionalData(
                        .attributes, format: 1, vault: test.keychain.store.identity, row: row.identity,
                        itemClass: itemClass, version: row.version))
                try db.execute(
                    sql: "UPDATE item SET attributes_iv = ?, attributes_ciphertext = ?, attributes_tag = ? WHERE id = ?",
                    arguments: [Data(sealed.initializationVector), Data(sealed.ciphertext), Data(sealed.tag), row.id])
            }
            try db.execute(sql: "DROP TABLE row_tree; PRAGMA user_version = 1")
        }
    }

    private func make(_ count: Int) throws -> TestKeychain {
        let test = try TestKeychain()
        for index in 0..<count {
            try test.keychain.add(GenericPassword(service: "s\(index)"), secret: SecretBytes("secret-\(index)"))
        }
        _ = try test.keychain.generateKey(.p256, label: "key")
        return test
    }

    private func check(_ keychain: Keychain, _ count: Int) throws {
        let items = try keychain.find(.genericPasswords)
        #expect(items.map(\.service) == (0..<count).map { "s\($0)" })
        for (index, item) in items.enumerated() {
            #expect(try keychain.secret(of: item) == SecretBytes("secret-\(index)"))
        }
        #expect(try keychain.find(.keys.keyClass(.private)).map(\.label) == ["key"])
        #expect(try keychain.vaultFindings().isEmpty)
    }

    @Test(arguments: [0, 3, 700])
    func `a vault of format 1 is brought up to date when it is unlocked, with all that is in it`(count: Int) throws {
        let test = try make(0)
        try test.keychain.add((0..<count).map { (GenericPassword(service: "s\($0)"), SecretBytes("secret-\($0)")) })
        try downgrade(test)
        let keychain = try test.reopen()
        #expect(try keychain.store.format == 1)
        try check(keychain, count)
        #expect(try test.sql { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 2)
        try keychain.add(GenericPassword(service: "s\(count)"), secret: SecretBytes("secret-\(count)"))
        try check(test.reopen(), count + 1)
    }

    @Test func `several that open an old vault at once upgrade it once`() async throws {
        let test = try make(50)
        try downgrade(test)
        let children = try (0..<3).map { _ in try Child(test, ["secrets", "50"]) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                let keychain = try test.reopen(.patient)
                group.addTask {
                    let found = try await keychain.find(.genericPasswords)
                    #expect(found.count == 50)
                }
            }
            try await group.waitForAll()
        }
        for child in children {
            let end = child.waitForEnd()
            #expect(end.status == 0 && end.lines == ["ready", "50", "50"] + (0..<50).map { "secret-\($0)" })
        }
        try check(test.reopen(), 50)
    }

    @Test func `a damaged row stays one after the upgrade, and costs nobody else anything`() throws {
        let test = try make(3)
        try downgrade(test)
        try test.sql {
            try $0.execute(sql: "UPDATE item SET attributes_tag = zeroblob(16) WHERE id = (SELECT MIN(id) FROM item)")
        }
        let keychain = try test.reopen()
        var (whole, damaged) = (0, 0)
        try keychain.forEach(.genericPasswords, damaged: { _ in damaged += 1 }) { _ in
            whole += 1
            return true
        }
        #expect((whole, damaged) == (2, 1))
    }

    @Test func `a vault that is made to look old does not lose its protection`() throws {
        let test = try make(3)
        try downgrade(test)
        let copy = try VaultCopy(of: test)
        try check(test.reopen(), 3)
        try test.reopen().update(.genericPassword(service: "s0"), secret: SecretBytes("new"))
        // The row of then, and the format of then, so that the upgrade would take it for good.
        let first = try #require(test.sql { try Int64.fetchOne($0, sql: "SELECT MIN(id) FROM item") })
        try copy.putBackRows(into: test, where: "id = \(first)")
        try test.sql { try $0.execute(sql: "DROP TABLE row_tree; PRAGMA user_version = 1") }
        let keychain = try test.reopen()
        #expect(code { _ = try keychain.find(.genericPassword(service: "s0")) } == .vaultDamaged)
        #expect(code { try keychain.add(GenericPassword(service: "x"), secret: nil) } == .vaultDamaged)
        #expect(try test.sql { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 1)
    }

    @Test func `a vault whose number alone was made to look old is damaged, and whole again with its number`() throws {
        let test = try make(3)
        try test.sql { try $0.execute(sql: "PRAGMA user_version = 1") }
        let keychain = try test.reopen()
        #expect(code { _ = try keychain.find(.genericPassword(service: "s0")) } == .vaultDamaged)
        #expect(code { try keychain.add(GenericPassword(service: "x"), secret: nil) } == .vaultDamaged)
        try test.sql { try $0.execute(sql: "PRAGMA user_version = 2") }
        try check(test.reopen(), 3)
    }
}
