import Foundation
import GRDB
import KeyfobPrimitives
import KeyfobTesting
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    /// The older parts of the vault's file that an attacker can put back, and whether Keyfob detects them.
    @Suite struct ReplayTests {
        private func make(_ names: [String] = ["one", "two", "three"]) throws -> TestKeychain {
            let test = try TestKeychain()
            for name in names { try test.keychain.add(GenericPassword(service: name), secret: SecretBytes("old-" + name)) }
            return test
        }

        private func set(_ test: TestKeychain, _ name: String) throws {
            try test.keychain.update(.genericPassword(service: name), secret: SecretBytes("new-" + name))
        }

        private func secret(_ keychain: Keychain, _ name: String) throws -> String? {
            try keychain.secret(of: keychain.only(.genericPassword(service: name)))?.copyString()
        }

        /// The ids of rows as the test added them.
        private func id(_ test: TestKeychain, _ position: Int) throws -> Int64 {
            try #require(
                test.sql { try Int64.fetchOne($0, sql: "SELECT id FROM item ORDER BY id LIMIT 1 OFFSET \(position)") })
        }

        @Test(arguments: [false, true])
        func `an older copy of a row is an error in this process and the next, and other rows stay readable`(
            isChangedTwice: Bool
        ) throws {
            let test = try make()
            let copy = try VaultCopy(of: test)
            try set(test, "one")
            if isChangedTwice { try set(test, "one") }
            let first = try id(test, 0)
            let reference = try #require(test.keychain.only(.genericPassword(service: "one")).reference)
            try copy.putBackRows(into: test, where: "id = \(first)")
            for keychain in [test.keychain, try test.reopen()] {
                do {
                    _ = try secret(keychain, "one")
                    Issue.record("an old secret was given")
                } catch let error as KeychainError {
                    #expect(error.code == .vaultDamaged && error.details["reason"] == "replayed")
                    #expect(error.details["name"] == "one" && error.details["item"] == reference.identity.hexadecimal)
                    #expect(error.details["reference"] == reference.data.base64EncodedString())
                }
                #expect(code { _ = try keychain.item(reference) } == .vaultDamaged)
                #expect(code { try keychain.update(.genericPassword(service: "one"), [.label: "x"]) } == .vaultDamaged)
                #expect(try secret(keychain, "two") == "old-two")
                var names: [String] = []
                var damaged = 0
                try keychain.forEach(.genericPasswords, damaged: { _ in damaged += 1 }) { item in
                    names.append(item.service)
                    return true
                }
                #expect(names == ["two", "three"] && damaged == 1)
                #expect(try keychain.integrity.findings().count == 1)
            }
            try test.keychain.delete(Criteria(reference))
            #expect(try test.keychain.integrity.findings().isEmpty)
            try test.keychain.add(GenericPassword(service: "one"), secret: SecretBytes("again"))
            #expect(try secret(test.reopen(), "one") == "again")
        }

        /// The node that records a row's version, and all above it.
        private static let treeOfOld = "DELETE FROM row_tree; INSERT INTO row_tree SELECT * FROM old.row_tree"

        @Test(arguments: [
            // The row with its nodes, which contradict the root; and with everything except what others have written.
            ("the row and all nodes, without the root", "INSERT OR REPLACE INTO row_tree SELECT * FROM old.row_tree WHERE number < (SELECT MAX(number) FROM row_tree)"),
            ("the row and the root, without the nodes", "INSERT OR REPLACE INTO row_tree SELECT * FROM old.row_tree WHERE number = (SELECT MAX(number) FROM old.row_tree)"),
            ("the row and no nodes at all", "DELETE FROM row_tree WHERE number < (SELECT MAX(number) FROM row_tree)"),
            ("the row and no tree at all", "DELETE FROM row_tree"),
        ])
        func `an older row is refused with a part of the older record, too`(row: (what: String, sql: String)) throws {
            let test = try make()
            let copy = try VaultCopy(of: test)
            try set(test, "one")
            try copy.putBackRows(into: test, where: "id = \(id(test, 0))")
            try copy.splice(into: test, row.sql)
            let keychain = try test.reopen()
            #expect(code { _ = try secret(keychain, "one") } == .vaultDamaged, "\(row.what)")
            #expect(code { try keychain.add(GenericPassword(service: "four"), secret: nil) } == .vaultDamaged)
            #expect(try !keychain.integrity.findings().isEmpty)
        }

        @Test func `the older record is refused with the row that was written since`() throws {
            let test = try make()
            let copy = try VaultCopy(of: test)
            try set(test, "one")
            try set(test, "two")
            // The whole record, and one of two rows: the other one reveals it.
            try copy.putBackRows(into: test, where: "id = \(id(test, 0))")
            try copy.splice(into: test, Self.treeOfOld)
            #expect(code { _ = try secret(test.reopen(), "two") } == .vaultDamaged)
            #expect(try test.reopen().integrity.findings().count == 1)
        }

        @Test func `a process that has seen a newer vault refuses an older one, even a complete one`() throws {
            let test = try make()
            let running = try test.reopen()
            #expect(try secret(running, "one") == "old-one")
            let copy = try VaultCopy(of: test)
            try set(test, "one")
            #expect(try secret(running, "one") == "new-one")
            try copy.putBackRows(into: test)
            try copy.splice(into: test, Self.treeOfOld)
            #expect(code { _ = try secret(running, "one") } == .vaultDamaged)
            #expect(code { try running.add(GenericPassword(service: "four"), secret: nil) } == .vaultDamaged)
            // The file alone cannot reveal this: VaultFormat lists it as not protected.
            #expect(try secret(test.reopen(), "one") == "old-one")
        }

        @Test func `a removed row cannot be put back`() throws {
            let test = try make()
            let copy = try VaultCopy(of: test)
            let first = try id(test, 0)
            try test.keychain.delete(.genericPassword(service: "one"))
            try copy.putBackRows(into: test, where: "id = \(first)")
            let keychain = try test.reopen()
            #expect(code { _ = try secret(keychain, "one") } == .vaultDamaged)
            #expect(code { _ = try keychain.passwordCount() } == .vaultDamaged)
            #expect(try keychain.integrity.findings().count == 1)
            #expect(try secret(keychain, "two") == "old-two")
        }

        @Test func `a removed row cannot be put in the place of another`() throws {
            let test = try make()
            let copy = try VaultCopy(of: test)
            let (first, second) = (try id(test, 0), try id(test, 1))
            try test.keychain.delete(.genericPassword(service: "one"))
            // Under the id of a row that is recorded.
            try copy.splice(into: test, """
                DELETE FROM item WHERE id = \(second);
                INSERT INTO item SELECT \(second), identity, class, state, primary_key, version, created, modified, attributes_iv,
                    attributes_ciphertext, attributes_tag, secret_iv, secret_ciphertext, secret_tag, public_object, public_name
                    FROM old.item WHERE id = \(first);
                INSERT OR IGNORE INTO recipient SELECT \(second), wrapping_key, encrypted_key, code FROM old.recipient WHERE item = \(first);
                INSERT OR IGNORE INTO term SELECT digest, \(second) FROM old.term WHERE item = \(first);
                """)
            #expect(code { _ = try secret(test.reopen(), "one") } == .vaultDamaged)
        }

        @Test func `two rows that were exchanged are both errors`() throws {
            let test = try make()
            let (first, second) = (try id(test, 0), try id(test, 1))
            try test.sql { db in
                try db.execute(sql: "PRAGMA foreign_keys = OFF")
                for (from, to) in [(first, -1), (second, first), (-1, second)] {
                    try db.execute(sql: "UPDATE item SET id = ? WHERE id = ?", arguments: [to, from])
                    try db.execute(sql: "UPDATE recipient SET item = ? WHERE item = ?", arguments: [to, from])
                    try db.execute(sql: "UPDATE term SET item = ? WHERE item = ?", arguments: [to, from])
                }
            }
            let keychain = try test.reopen()
            for name in ["one", "two"] { #expect(code { _ = try secret(keychain, name) } == .vaultDamaged, "\(name)") }
            #expect(try secret(keychain, "three") == "old-three")
            #expect(try keychain.integrity.findings().count == 2)
        }

        @Test func `rows that another program removed are found by the check and the count`() throws {
            let test = try make()
            try test.sql {
                try $0.execute(sql: "PRAGMA foreign_keys = ON; DELETE FROM item WHERE id = (SELECT MIN(id) FROM item)")
            }
            let keychain = try test.reopen()
            #expect(try keychain.integrity.findings().count == 1)
            #expect(code { _ = try keychain.passwordCount() } == .vaultDamaged)
            #expect(try secret(keychain, "two") == "old-two")
        }

        @Test func `a secret that was removed from its row, or comes from an older version, is an error`() throws {
            let test = try make()
            let copy = try VaultCopy(of: test)
            try set(test, "two")
            try test.sql { try $0.execute(sql: "UPDATE item SET secret_iv = NULL, secret_ciphertext = NULL, secret_tag = NULL WHERE id = (SELECT MIN(id) FROM item)") }
            #expect(code { _ = try test.keychain.find(.genericPassword(service: "one")) } == .vaultDamaged)
            let second = try id(test, 1)
            try copy.splice(into: test, """
                UPDATE item SET (secret_iv, secret_ciphertext, secret_tag) =
                    (SELECT secret_iv, secret_ciphertext, secret_tag FROM old.item WHERE id = \(second)) WHERE id = \(second)
                """)
            #expect(code { _ = try secret(test.keychain, "two") } == .vaultDamaged)
        }

        @Test func `accepting the vault accepts its rows, and later copies of it are distinguished again`() throws {
            let test = try make()
            let copy = try VaultCopy(of: test)
            try set(test, "one")
            let newer = try VaultCopy(of: test)
            let first = try id(test, 0)
            try copy.putBackRows(into: test, where: "id = \(first)")
            try test.sql { try $0.execute(sql: "UPDATE row_tree SET node = zeroblob(length(node))") }
            let keychain = try test.reopen()
            #expect(code { _ = try secret(keychain, "two") } == .vaultDamaged)
            #expect(try keychain.integrity.acceptVault() == 3)
            #expect(try keychain.integrity.findings().isEmpty)
            #expect(try secret(keychain, "one") == "old-one" && secret(keychain, "two") == "old-two")
            try newer.putBackRows(into: test, where: "id = \(first)")
            #expect(code { _ = try secret(keychain, "one") } == .vaultDamaged)
        }

        @Test func `several hundred random additions, changes and removals leave a correct record`() throws {
            let test = try make([])
            var names: Set<String> = []
            for round in 0..<6 {
                let fresh = (0..<150).map { "r\(round)-\($0)" }
                try test.keychain.add(fresh.map { (GenericPassword(service: $0), nil) })
                names.formUnion(fresh)
                for name in names.shuffled().prefix(20) {
                    try test.keychain.update(.genericPassword(service: name), [.comment: "c"])
                }
                for name in names.shuffled().prefix(round == 5 ? names.count : 90) {
                    try test.keychain.delete(.genericPassword(service: name))
                    names.remove(name)
                }
                #expect(try test.keychain.integrity.findings().isEmpty)
                #expect(Set(try test.reopen().find(.genericPasswords).map(\.service)) == names)
            }
            // Nodes are removed with their rows: only the root is left.
            #expect(try test.sql { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM row_tree") } == 1)
        }
    }
}
