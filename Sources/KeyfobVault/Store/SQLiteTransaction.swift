package import Foundation
import GRDB
import GRDBSQLite

/// The calls of ``StoreReader`` and ``StoreWriter`` on one connection.
///
/// GRDB caches the statements, and columns are read by position, because a list of 100,000 rows spends its time here.
/// Columns are decoded with the throwing call: GRDB's subscripts end the process at a value of another type, which a
/// damaged file may hold.
package struct SQLiteTransaction: StoreWriter {
    let db: Database
    /// The record of the rows; `nil` for a transaction that does not use rows.
    package let tree: RowTree?

    init(_ db: Database, _ key: RowTreeKey?, previous: RowTree.Snapshot? = nil) {
        self.db = db
        tree = key.map { RowTree(key: $0, storage: SQLiteTreeStorage(db: db), previous: previous) }
    }

    private static let commonColumns = """
        item.id, item.identity, item.class, item.state, item.primary_key, item.version, item.created, item.modified, \
        item.attributes_iv, item.attributes_ciphertext, item.attributes_tag
        """
    private static let columns = commonColumns + ", item.secret_iv, item.secret_ciphertext, item.secret_tag"
    private static let secretPresence = ", CASE WHEN item.secret_iv IS NULL THEN NULL ELSE x'' END, x''"

    /// All columns but those of the secret, for which only its presence is read.
    private static let columnsWithoutSecret = commonColumns + secretPresence + ", x''"

    /// The secret's tag without its ciphertext, which may be long.
    static let columnsWithSecretTag = commonColumns + secretPresence + ", item.secret_tag"

    func sealedRow(_ row: Row, withSecret: Bool) throws -> SealedRow {
        let hasSecret = row.hasBytes(11)
        var sealed = SealedRow(
            id: try row.decode(atIndex: 0), identity: try row.decode(atIndex: 1),
            classDigest: try row.decode(atIndex: 2),
            primaryKey: try row.decode(atIndex: 4), version: try row.decode(atIndex: 5),
            created: try row.decode(atIndex: 6),
            modified: try row.decode(atIndex: 7),
            attributes: SealedBytes(initializationVector: row.bytes(8), ciphertext: row.bytes(9), tag: row.bytes(10)),
            secret: hasSecret
                ? SealedBytes(initializationVector: row.bytes(11), ciphertext: row.bytes(12), tag: row.bytes(13)) : nil)
        // A row with an invalid state does not open, because the state is part of the additional data.
        sealed.state = RowState(rawValue: try row.decode(atIndex: 3)) ?? .live
        if withSecret, hasSecret { sealed.recipients = try recipients(of: sealed.id) }
        if let tree { sealed.recordStatus = try recordStatus(of: sealed, withSecret: withSecret, in: tree) }
        return sealed
    }

    /// Compares a row with its entry in the record.
    private func recordStatus(of row: SealedRow, withSecret: Bool, in tree: RowTree) throws -> SealedRow.RecordStatus {
        do {
            let entry = try tree.entry(of: row.id)
            let own = row.treeEntry
            // Without the secret's tag, only the presence of a secret can be compared.
            let isSameSecret = withSecret ? own.low == entry.low : (row.secret == nil) == (entry.low == 0)
            return entry != .none && own.high == entry.high && isSameSecret ? .current : .superseded
        } catch let error as KeychainError {
            return .unknown(error)
        }
    }

    private func recipients(of item: Int64) throws -> [Recipient] {
        let statement = try db.cachedStatement(
            sql: "SELECT wrapping_key, encrypted_key, code FROM recipient WHERE item = ? ORDER BY wrapping_key")
        return try Row.fetchAll(statement, arguments: [item]).map {
            Recipient(wrappingKey: try $0.decode(atIndex: 0), encryptedKey: $0.bytes(1), code: $0.bytes(2))
        }
    }

    // MARK: Reading

    package func forEachRow(
        classDigests: [Data], terms: [Data], withSecrets: Bool, after: Int64, _ body: (SealedRow) throws -> Bool
    ) throws {
        let columns = withSecrets ? Self.columns : Self.columnsWithoutSecret
        let marks = Array(repeating: "?", count: classDigests.count).joined(separator: ", ")
        // The plus sign keeps SQLite from using the index of the classes, after which it would sort the rows of several
        // classes in memory.
        let isOfClass = classDigests.count == 1 ? "item.class = ?" : "+item.class IN (\(marks))"
        var arguments: [any DatabaseValueConvertible] = []
        let sql: String
        if let first = terms.first {
            // The caller sorts the terms so that the first is the most selective one; the others are probes.
            let probes = terms.dropFirst().indices.map {
                "AND EXISTS (SELECT 1 FROM term AS t\($0) WHERE t\($0).digest = ? AND t\($0).item = item.id)"
            }
            sql = """
                SELECT \(columns) FROM term CROSS JOIN item ON item.id = term.item
                WHERE term.digest = ? AND term.item > ? \(probes.joined(separator: " ")) AND \(isOfClass) AND item.state = 0
                ORDER BY term.item
                """
            arguments += [first, after]
            arguments += Array(terms.dropFirst())
        } else {
            sql = "SELECT \(columns) FROM item WHERE item.id > ? AND \(isOfClass) AND item.state = 0 ORDER BY item.id"
            arguments.append(after)
        }
        arguments += classDigests
        let rows = try Row.fetchCursor(idleStatement(sql), arguments: StatementArguments(arguments))
        while let row = try rows.next() {
            guard try body(sealedRow(row, withSecret: withSecrets)) else { return }
        }
    }

    /// Returns the cached statement, or a new one while the cached one is in use.
    ///
    /// A loop over rows may run the same query again in its body, and one statement cannot serve both.
    private func idleStatement(_ sql: String) throws -> Statement {
        let cached = try db.cachedStatement(sql: sql)
        guard unsafe sqlite3_stmt_busy(cached.sqliteStatement) != 0 else { return cached }
        return try db.makeStatement(sql: sql)
    }

    package func row(identity: Data, withSecret: Bool) throws -> SealedRow? {
        let columns = withSecret ? Self.columns : Self.columnsWithoutSecret
        let statement = try db.cachedStatement(sql: "SELECT \(columns) FROM item WHERE identity = ? AND state = 0")
        return try Row.fetchOne(statement, arguments: [identity]).map { try sealedRow($0, withSecret: withSecret) }
    }

    package func row(primaryKey: Data) throws -> SealedRow? {
        let statement = try db.cachedStatement(
            sql: "SELECT \(Self.columnsWithoutSecret) FROM item WHERE primary_key = ? AND state = 0")
        return try Row.fetchOne(statement, arguments: [primaryKey]).map { try sealedRow($0, withSecret: false) }
    }

    package func rowCount() throws -> Int {
        try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM item") ?? 0
    }

    package func rowCount(classDigest: Data) throws -> Int {
        try Int.fetchOne(
            db, sql: "SELECT COUNT(*) FROM item WHERE class = ? AND state = 0", arguments: [classDigest]) ?? 0
    }

    package func wrappingKeys() throws -> [WrappingKeyRow] {
        let sql = """
            SELECT id, key_id, suite, object_id, encrypted_metadata_key, public_key, public_key_code, created, is_active
            FROM wrapping_key ORDER BY id
            """
        return try Row.fetchAll(db.cachedStatement(sql: sql)).map {
            WrappingKeyRow(
                id: try $0.decode(atIndex: 0), keyID: try $0.decode(atIndex: 1), suite: try $0.decode(atIndex: 2),
                objectID: try $0.decode(atIndex: 3), encryptedMetadataKey: $0.bytes(4),
                publicKey: try $0.decode(atIndex: 5), publicKeyCode: try $0.decode(atIndex: 6),
                created: try $0.decode(atIndex: 7), isActive: try $0.decode(atIndex: 8))
        }
    }

    package func unfinishedRows() throws -> [SealedRow] {
        let statement = try db.cachedStatement(
            sql: "SELECT \(Self.columnsWithoutSecret) FROM item WHERE state != 0 ORDER BY id")
        return try Row.fetchAll(statement).map { try sealedRow($0, withSecret: false) }
    }

    package func publicNames() throws -> [PublicName] {
        let statement = try db.cachedStatement(
            sql: "SELECT public_object, public_name FROM item WHERE public_object IS NOT NULL ORDER BY id")
        return try Row.fetchAll(statement).map {
            PublicName(object: Data($0.bytes(0)), name: try $0.decode(String?.self, atIndex: 1))
        }
    }

    package func objectIndexStamp() throws -> Data? {
        try Data.fetchOne(db.cachedStatement(sql: "SELECT stamp FROM token_index WHERE id = 1"))
    }

    package func forEachIndexedObject(_ body: (IndexedObject) throws -> Void) throws {
        let statement = try db.cachedStatement(
            sql: "SELECT key, clear, sealed_iv, sealed_ciphertext, sealed_tag FROM token_object ORDER BY rowid")
        let rows = try Row.fetchCursor(statement)
        while let row = try rows.next() { try body(entry(row)) }
    }

    private func entry(_ row: Row) -> IndexedObject {
        let content: IndexedObject.Content = row.hasBytes(1)
            ? .clear(row.bytes(1))
            : .sealed(SealedBytes(initializationVector: row.bytes(2), ciphertext: row.bytes(3), tag: row.bytes(4)))
        return IndexedObject(key: Data(row.bytes(0)), content: content)
    }

    // MARK: Writing

    package func insert(_ row: SealedRow) throws -> Int64 {
        let sql = """
            INSERT INTO item (identity, class, state, primary_key, version, created, modified, attributes_iv,
                attributes_ciphertext, attributes_tag, secret_iv, secret_ciphertext, secret_tag, public_object,
                public_name)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        try execute(sql, [
            row.identity, row.classDigest, row.state.rawValue, row.primaryKey, row.version, row.created, row.modified,
            Data(row.attributes.initializationVector), Data(row.attributes.ciphertext), Data(row.attributes.tag),
            row.secret.map { Data($0.initializationVector) }, row.secret.map { Data($0.ciphertext) },
            row.secret.map { Data($0.tag) }, row.publicName?.object, row.publicName?.name,
        ])
        let id = db.lastInsertedRowID
        try insertSatellites(of: row, id: id)
        try record(row.treeEntry, of: id)
        return id
    }

    package func update(_ row: SealedRow) throws {
        let sql = """
            UPDATE item SET primary_key = ?, version = ?, modified = ?, attributes_iv = ?, attributes_ciphertext = ?,
                attributes_tag = ?, secret_iv = ?, secret_ciphertext = ?, secret_tag = ?, public_object = ?,
                public_name = ?
            WHERE id = ? AND version = ?
            """
        try execute(sql, [
            row.primaryKey, row.version, row.modified, Data(row.attributes.initializationVector),
            Data(row.attributes.ciphertext), Data(row.attributes.tag),
            row.secret.map { Data($0.initializationVector) }, row.secret.map { Data($0.ciphertext) },
            row.secret.map { Data($0.tag) }, row.publicName?.object, row.publicName?.name, row.id, row.version - 1,
        ])
        guard db.changesCount == 1 else {
            throw KeychainError(.itemNotFound, "the item was changed or removed by another process in the meantime.")
        }
        try db.cachedStatement(sql: "DELETE FROM term WHERE item = ?").execute(arguments: [row.id])
        try db.cachedStatement(sql: "DELETE FROM recipient WHERE item = ?").execute(arguments: [row.id])
        try insertSatellites(of: row, id: row.id)
        try record(row.treeEntry, of: row.id)
    }

    /// Brings the record up to date.
    private func record(_ entry: RowTree.Entry, of id: Int64) throws {
        guard let tree else {
            throw KeychainError(.failed, "a row was written without the vault's record of its rows.")
        }
        try tree.set(entry, of: id)
    }

    /// Executes a statement and throws `duplicateItem` if the primary key exists already.
    private func execute(_ sql: String, _ arguments: StatementArguments) throws {
        do { try db.cachedStatement(sql: sql).execute(arguments: arguments) } catch let error as DatabaseError
            where error.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE
        {
            throw KeychainError(.duplicateItem, "the item already exists in the keychain.")
        }
    }

    private func insertSatellites(of row: SealedRow, id: Int64) throws {
        if !row.recipients.isEmpty {
            let statement = try db.cachedStatement(
                sql: "INSERT INTO recipient (item, wrapping_key, encrypted_key, code) VALUES (?, ?, ?, ?)")
            for recipient in row.recipients {
                try statement.execute(arguments: [
                    id, recipient.wrappingKey, Data(recipient.encryptedKey), Data(recipient.code),
                ])
            }
        }
        if !row.terms.isEmpty {
            let statement = try db.cachedStatement(sql: "INSERT INTO term (digest, item) VALUES (?, ?)")
            for term in row.terms { try statement.execute(arguments: [term, id]) }
        }
    }

    package func delete(rowID: Int64) throws {
        try db.cachedStatement(sql: "DELETE FROM item WHERE id = ?").execute(arguments: [rowID])
        try record(.none, of: rowID)
    }

    package func insert(_ key: WrappingKeyRow) throws -> Int64 {
        let sql = """
            INSERT INTO wrapping_key (
                key_id, suite, object_id, encrypted_metadata_key, public_key, public_key_code, created, is_active)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """
        try db.cachedStatement(sql: sql).execute(arguments: [
            key.keyID, key.suite, key.objectID, Data(key.encryptedMetadataKey), key.publicKey, key.publicKeyCode,
            key.created, key.isActive,
        ])
        return db.lastInsertedRowID
    }

    package func replaceObjectIndex(_ objects: [IndexedObject], stamp: Data?) throws {
        try db.execute(sql: "DELETE FROM token_object")
        try updateObjectIndex(inserting: objects, removing: [], stamp: stamp)
    }

    package func updateObjectIndex(inserting: [IndexedObject], removing: [Data], stamp: Data?) throws {
        let removal = try db.cachedStatement(sql: "DELETE FROM token_object WHERE key = ?")
        for key in removing { try removal.execute(arguments: [key]) }
        let insertion = try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO token_object (key, clear, sealed_iv, sealed_ciphertext, sealed_tag)
                VALUES (?, ?, ?, ?, ?)
                """)
        for object in inserting {
            switch object.content {
            case .clear(let bytes):
                try insertion.execute(arguments: [object.key, Data(bytes), nil, nil, nil])
            case .sealed(let sealed):
                try insertion.execute(arguments: [
                    object.key, nil, Data(sealed.initializationVector), Data(sealed.ciphertext), Data(sealed.tag),
                ])
            }
        }
        if let stamp {
            try db.execute(sql: "INSERT OR REPLACE INTO token_index (id, stamp) VALUES (1, ?)", arguments: [stamp])
        } else {
            try db.execute(sql: "DELETE FROM token_index")
        }
    }
}

/// The storage of a ``RowTree``'s nodes in their table.
package struct SQLiteTreeStorage: RowTree.Storage {
    let db: Database

    /// The largest number puts the root next to the topmost nodes, which change together with it.
    private static let rootNumber = Int64.max

    package func treeRoot() throws -> [UInt8]? { try treeNode(Self.rootNumber) }

    package func treeNode(_ number: Int64) throws -> [UInt8]? {
        let statement = try db.cachedStatement(sql: "SELECT node FROM row_tree WHERE number = ?")
        return try Row.fetchOne(statement, arguments: [number]).map { $0.bytes(0) }
    }

    package func setTreeRoot(_ bytes: [UInt8]) throws { try setTreeNode(Self.rootNumber, bytes) }

    package func setTreeNode(_ number: Int64, _ bytes: [UInt8]?) throws {
        guard let bytes else {
            return try db.cachedStatement(sql: "DELETE FROM row_tree WHERE number = ?").execute(arguments: [number])
        }
        let sql = "INSERT INTO row_tree (number, node) VALUES (?, ?) ON CONFLICT DO UPDATE SET node = excluded.node"
        try db.cachedStatement(sql: sql).execute(arguments: [number, Data(bytes)])
    }

    package func removeTreeNodes() throws { try db.execute(sql: "DELETE FROM row_tree") }
}

extension Row {
    /// Returns the blob in a column; empty for NULL.
    fileprivate func bytes(_ index: Int) -> [UInt8] {
        (try? withUnsafeData(atIndex: index) { $0.map { [UInt8]($0) } ?? [] })
            // `withUnsafeData` throws only what its body throws, and this one does not.
            ?? []
    }

    fileprivate func hasBytes(_ index: Int) -> Bool { !hasNull(atIndex: index) }
}
