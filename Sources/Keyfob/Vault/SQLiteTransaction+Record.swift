import Foundation
import GRDB

/// Making, renewing and checking the record of the rows.
extension SQLiteTransaction {
    func recordedRowCount() throws -> Int {
        guard let tree else { throw KeychainError(.failed, "the vault's record of its rows was not asked for.") }
        return Int(clamping: try tree.root().count)
    }

    func changeCount() throws -> UInt64 {
        guard let tree else { throw KeychainError(.failed, "the vault's record of its rows was not asked for.") }
        return UInt64(try tree.root().counter)
    }

    func beginRecord() throws {
        guard try rowCount() == 0 else { throw KeychainError(.failed, "a vault with rows has a record of them.") }
        try tree?.makeEmpty()
    }

    func renewRecord(_ isWhole: (SealedRow) throws -> Bool) throws -> Int {
        guard let tree else { throw KeychainError(.failed, "the vault's record of its rows was not asked for.") }
        // A program that does not enforce foreign keys leaves these behind when it removes rows.
        for table in ["recipient", "term"] {
            try db.execute(sql: "DELETE FROM \(table) WHERE item NOT IN (SELECT id FROM item)")
        }
        var count = 0
        var entries: [(id: Int64, entry: RowTree.Entry)] = []
        try forEachRowInOrder { row in
            if try isWhole(row) {
                count += 1
                entries.append((row.id, row.treeEntry))
            } else if let entry = try? tree.entry(of: row.id) {
                // A damaged row that a backup repairs is again the row that was written last. Without an entry it would
                // look like a row that another program added. If the record cannot be read, there is no entry to keep.
                entries.append((row.id, entry))
            }
        }
        try tree.makeEmpty()
        for (id, entry) in entries { try tree.set(entry, of: id) }
        return count
    }

    /// Calls `body` with every row, with the tag of its secret but without the secret.
    ///
    /// The rows are fetched in batches, so that `body` may change them.
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

    /// Returns the findings about the rows: those of `damage`, and the differences from the record.
    func recordFindings(_ damage: (SealedRow) throws -> VaultFinding?) throws -> [VaultFinding] {
        guard let tree else { return [] }
        var findings: [VaultFinding] = []
        var count: Int64 = 0
        var recordDamage: KeychainError?
        try forEachRowInOrder { row in
            let finding = try damage(row)
            if let finding { findings.append(finding) }
            guard recordDamage == nil else { return }
            do {
                let entry = try tree.entry(of: row.id)
                if entry != .none { count += 1 }
                guard finding == nil, entry != row.treeEntry else { return }
                findings.append(
                    entry == .none
                        ? VaultFinding(.itemAdded, row, "was added by another program")
                        : VaultFinding(.itemReplayed, row, "is not what was written last"))
            } catch let error as KeychainError where error.code == .vaultDamaged { recordDamage = error }
        }
        do {
            if let recordDamage { throw recordDamage }
            let missing = try tree.root().count - count
            if missing != 0 {
                let what = missing == 1 ? "1 row was" : "\(missing) rows were"
                findings.append(VaultFinding(.itemsRemoved, "\(what) removed by another program"))
            }
        } catch let error as KeychainError where error.code == .vaultDamaged {
            findings.append(VaultFinding(.recordDamaged, error.message))
        }
        return findings
    }

    func deleteRows(_ damage: (SealedRow) throws -> VaultFinding?) throws -> [VaultFinding] {
        var findings: [VaultFinding] = []
        try forEachRowInOrder { row in
            guard let finding = try damage(row) else { return }
            try delete(rowID: row.id)
            findings.append(finding)
        }
        return findings
    }
}
