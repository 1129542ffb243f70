import Foundation
import GRDB

/// The record of the rows as a whole: made, renewed, and compared with what is there.
extension SQLiteTransaction {
    func recordedRowCount() throws -> Int {
        guard let tree else { throw KeychainError(.failed, "the vault's record of its rows was not asked for.") }
        return Int(clamping: try tree.root().count)
    }

    func beginRecord() throws {
        guard try rowCount() == 0 else { throw KeychainError(.failed, "a vault with rows has a record of them.") }
        try tree?.makeEmpty()
    }

    func renewRecord(_ isWhole: (SealedRow) throws -> Bool) throws -> Int {
        guard let tree else { throw KeychainError(.failed, "the vault's record of its rows was not asked for.") }
        // What a program that knows nothing of foreign keys has left of rows that it removed.
        for table in ["recipient", "term"] {
            try db.execute(sql: "DELETE FROM \(table) WHERE item NOT IN (SELECT id FROM item)")
        }
        try tree.makeEmpty()
        var count = 0
        try forEachRowInOrder { row in
            guard try isWhole(row) else { return }
            try tree.set(row.treeEntry, of: row.id)
            count += 1
        }
        return count
    }

    func upgrade(_ reseal: (SealedRow) throws -> SealedBytes?) throws {
        // Somebody else may have done it while this transaction waited for its turn.
        guard try Int.fetchOne(db, sql: "PRAGMA user_version") == 1 else { return }
        // What has the table is of format 2, and was made to look old.
        guard try !db.tableExists("row_tree") else { throw VaultKeys.pretendedAge() }
        try Schema.addTree(db)
        try tree?.makeEmpty()
        let statement = try db.cachedStatement(
            sql: "UPDATE item SET attributes_iv = ?, attributes_ciphertext = ?, attributes_tag = ? WHERE id = ?")
        try forEachRowInOrder { row in
            guard let attributes = try reseal(row) else { return }
            try statement.execute(arguments: [
                Data(attributes.initializationVector), Data(attributes.ciphertext), Data(attributes.tag), row.id,
            ])
            var row = row
            row.attributes = attributes
            try tree?.set(row.treeEntry, of: row.id)
        }
    }

    /// Every row, with its secret's tag but not with its secret, in pieces: so that `body` may change it.
    private func forEachRowInOrder(_ body: (SealedRow) throws -> Void) throws {
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(Self.columnsWithSecretTag) FROM item WHERE id > ? ORDER BY id LIMIT 500
                """)
        var last = Int64.min
        while true {
            let rows = try Row.fetchAll(statement, arguments: [last]).map { try sealedRow($0, withSecret: false) }
            guard let end = rows.last else { return }
            for row in rows { try body(row) }
            last = end.id
        }
    }

    /// What differs between the rows that are there and the record of them.
    func recordFindings() throws -> [String] {
        guard let tree else { return [] }
        var findings: [String] = []
        var count: Int64 = 0
        do {
            let root = try tree.root()
            try forEachRowInOrder { row in
                let entry = try tree.entry(of: row.id)
                if entry != .none { count += 1 }
                guard entry != row.treeEntry else { return }
                findings.append(
                    "item \(row.identity.hexadecimal) "
                        + (entry == .none ? "was added by another program" : "is not what was written last"))
            }
            if count != root.count { findings.append("\(root.count - count) rows were removed by another program") }
        } catch let error as KeychainError where error.code == .vaultDamaged {
            findings.append(error.message)
        }
        return findings
    }
}
