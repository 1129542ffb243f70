import GRDB
import KeyfobPrimitives

/// The tables of the vault.
///
/// `VaultFormat` in the documentation describes them for authors of other readers; keep the two in step.
package enum Schema {
    /// `PRAGMA application_id` of a vault: "KFOB".
    package static let applicationID = 0x4B46_4F42

    /// `PRAGMA user_version`: the format that this program reads and writes.
    package static let version = 1

    /// Makes the tables of a new vault.
    static func create(_ db: Database) throws {
        try db.execute(sql: tables)
        try db.execute(sql: "PRAGMA application_id = \(applicationID)")
        try db.execute(sql: "PRAGMA user_version = \(version)")
    }

    /// A column of a table.
    package struct Column: Hashable {
        package let table: String
        package let name: String
    }

    /// A vault in memory and its columns, kept for the life of the process for the reason that
    /// `VaultConnection.closeKeepingQueue` gives.
    private static let model = Lock<(queue: DatabaseQueue, columns: [Column])?>(nil)

    /// Returns every column of a vault.
    package static func columns() throws -> [Column] {
        try model.withLock { model in
            if let model { return model.columns }
            let queue = try DatabaseQueue()
            let columns = try queue.write { db in
                try create(db)
                return try Schema.columns(of: db)
            }
            model = (queue, columns)
            return columns
        }
    }

    /// Returns messages for the columns of `model` that a vault lacks because of another program or a disk fault.
    static func lacks(_ db: Database, of model: [Column]) throws -> [String] {
        let present = Set(try columns(of: db))
        let tables = Set(present.map(\.table))
        var missing: [String] = []
        for column in model where !present.contains(column) {
            let what = tables.contains(column.table)
                ? "column \"\(column.name)\" of table \"\(column.table)\" is missing"
                : "table \"\(column.table)\" is missing"
            if missing.last != what { missing.append(what) }
        }
        return missing
    }

    private static func columns(of db: Database) throws -> [Column] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT tables.name, columns.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
                WHERE tables.type = 'table' ORDER BY tables.rowid, columns.cid
                """
        ).map { Column(table: try $0.decode(atIndex: 0), name: try $0.decode(atIndex: 1)) }
    }

    /// `row_tree` holds the nodes of the rows' Merkle tree, with the root under the largest number.
    private static let tables = """
        CREATE TABLE vault (
            name TEXT PRIMARY KEY NOT NULL,
            value BLOB NOT NULL
        ) WITHOUT ROWID;

        CREATE TABLE wrapping_key (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            key_id TEXT NOT NULL UNIQUE,
            suite TEXT NOT NULL,
            object_id BLOB NOT NULL,
            encrypted_metadata_key BLOB NOT NULL,
            public_key BLOB,
            public_key_code BLOB,
            created INTEGER NOT NULL,
            is_active INTEGER NOT NULL
        );

        CREATE TABLE item (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            identity BLOB NOT NULL UNIQUE,
            class BLOB NOT NULL,
            state INTEGER NOT NULL,
            primary_key BLOB NOT NULL UNIQUE,
            version INTEGER NOT NULL,
            created INTEGER NOT NULL,
            modified INTEGER NOT NULL,
            attributes_iv BLOB NOT NULL,
            attributes_ciphertext BLOB NOT NULL,
            attributes_tag BLOB NOT NULL,
            secret_iv BLOB,
            secret_ciphertext BLOB,
            secret_tag BLOB,
            public_object BLOB,
            public_name TEXT
        );
        CREATE INDEX item_class ON item (class);
        CREATE INDEX item_state ON item (state) WHERE state != 0;
        CREATE INDEX item_public_object ON item (public_object) WHERE public_object IS NOT NULL;

        CREATE TABLE recipient (
            item INTEGER NOT NULL REFERENCES item (id) ON DELETE CASCADE,
            wrapping_key INTEGER NOT NULL REFERENCES wrapping_key (id),
            encrypted_key BLOB NOT NULL,
            code BLOB NOT NULL,
            PRIMARY KEY (item, wrapping_key)
        ) WITHOUT ROWID;

        CREATE TABLE term (
            digest BLOB NOT NULL,
            item INTEGER NOT NULL REFERENCES item (id) ON DELETE CASCADE,
            PRIMARY KEY (digest, item)
        ) WITHOUT ROWID;
        CREATE INDEX term_item ON term (item);

        CREATE TABLE row_tree (
            number INTEGER PRIMARY KEY,
            node BLOB NOT NULL
        );

        CREATE TABLE token_object (
            key BLOB PRIMARY KEY NOT NULL,
            clear BLOB,
            sealed_iv BLOB,
            sealed_ciphertext BLOB,
            sealed_tag BLOB
        );

        CREATE TABLE token_index (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            stamp BLOB NOT NULL
        );
        """
}
