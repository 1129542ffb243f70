import CLinux
package import Foundation
import GRDB
import GRDBSQLite
package import KeyfobPrimitives

/// A vault in one SQLite file, accessed through GRDB.
///
/// SQLite keeps a rollback journal, so the vault is a single file between transactions. Write-ahead logging would save
/// two syncs per commit. But its shared memory ends a process with SIGBUS on a full disk, and restoring a log without
/// its file corrupts the vault.
///
/// A reader keeps the writers of other processes from committing. Transactions are therefore short: they include no
/// token operation and no code of the caller.
package final class SQLiteStore: ItemStore {
    package let identity: Data
    private let connection: VaultConnection
    private let path: String
    private let fileNumber: UInt64?
    /// The name of the vault in messages.
    private let title: String
    /// Replaces the error of a vault whose file no longer exists with the keychain's error.
    private let explain: @Sendable (KeychainError) -> KeychainError
    /// The newest record of the rows that this process has seen, with the nodes that it has checked.
    private let newestRecord = Lock<RowTree.Snapshot?>(nil)

    /// How a process is going to use the store.
    package enum Use: Sendable {
        /// Many calls. The cache holds the upper levels of a large vault's indexes.
        case server
        /// A few calls before the process ends. `VaultConnection.closeKeepingQueue` closes the connection.
        case oneShot
        /// A few calls in a process that keeps running.
        case look
    }

    /// Opens a vault.
    ///
    /// - Parameters:
    ///   - path: The file of the vault.
    ///   - keychain: The name of the keychain that the vault belongs to, for messages.
    ///   - use: How the process is going to use the store.
    ///   - busyTimeout: How long a call waits for another process that keeps the vault locked, in seconds.
    ///   - explain: Replaces the error of a vault whose file no longer exists.
    /// - Throws: `KeychainError` with code `vaultUnavailable` if the file is missing or cannot be opened, `refused` if
    ///   this user may not read it, `unsafeFile` if another user can write it or its directory, `vaultDamaged` if it is
    ///   not a vault or not a database, or `vaultTooNew` if a newer version wrote it.
    package init(
        path: String, keychain: String? = nil, use: Use, busyTimeout: TimeInterval,
        explain: @escaping @Sendable (KeychainError) -> KeychainError = { $0 }
    ) throws {
        self.path = path
        self.explain = explain
        title = keychain.map { "keychain \"\($0)\"" } ?? "the vault \(path)"
        guard unsafe access(path, F_OK) == 0 else {
            guard [ENOENT, ENOTDIR].contains(errno) else { throw KeychainError.file("read", path, errno) }
            throw explain(Self.missing(path))
        }
        // Another user with write access could replace the file with an earlier copy, or destroy it.
        for suffix in ["", "-journal"] { try PrivateFile.requireUnwritableByOthers(path + suffix) }
        guard unsafe access(path, R_OK) == 0 else {
            throw KeychainError.file("read", path, errno)
        }
        do {
            let database = try Self.connect(path: path, use: use, busyTimeout: busyTimeout) {
                try Self.checkFile($0, path: path)
            }
            connection = VaultConnection(database, keepsQueue: use == .oneShot)
            identity = try connection.use { try Self.identify($0, path: path) }
            fileNumber = Self.fileNumber(path)
        } catch { throw Self.translate(error, path: path, title: title, explain) }
    }

    /// Makes an empty vault in memory, which ends with the store.
    ///
    /// - Parameters:
    ///   - identity: The identity of the vault.
    ///   - title: The name of the vault in messages.
    /// - Throws: `KeychainError` with code `vaultUnavailable` if SQLite cannot make it.
    package init(inMemory identity: Data, title: String) throws {
        (path, fileNumber, explain) = (":memory:", nil, { $0 })
        (self.identity, self.title) = (identity, title)
        do {
            let database = try Self.connect(path: path, use: .oneShot, busyTimeout: 0)
            try database.write { try Self.fill($0, identity: identity) }
            connection = VaultConnection(database, keepsQueue: true)
        } catch { throw Self.translate(error, path: path, title: title, { $0 }) }
    }

    private static func fill(_ db: Database, identity: Data) throws {
        try Schema.create(db)
        try db.execute(sql: "INSERT INTO vault (name, value) VALUES ('identity', ?)", arguments: [identity])
    }

    /// Makes a new, empty vault of mode 0600.
    ///
    /// - Throws: `KeychainError` with code `duplicateKeychain` if the file exists, or `refused`, `diskFull`,
    ///   `fileUnavailable` or `vaultUnavailable` if it cannot be made.
    package static func create(path: String, identity: Data) throws {
        let descriptor = unsafe keyfob_open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            guard errno == EEXIST else { throw KeychainError.file("create", path, errno) }
            throw KeychainError(
                .duplicateKeychain, "the vault \(path) cannot be made: it is there already.",
                hint: "Move it away, and keep it: it may be all that is left of another keychain.",
                details: ["path": path])
        }
        close(descriptor)
        do {
            let database = try connect(path: path, use: .oneShot, busyTimeout: 10)
            defer { VaultConnection.closeKeepingQueue(database) }
            try database.write { try fill($0, identity: identity) }
            try database.close()
        } catch {
            unsafe unlink(path)
            throw translate(error, path: path)
        }
    }

    /// Opens a connection.
    ///
    /// - Parameter check: Called with the connection before SQLite reads or locks the file.
    static func connect(
        path: String, use: Use, busyTimeout: TimeInterval,
        check: @escaping @Sendable (Database) throws -> Void = { _ in }
    ) throws -> DatabaseQueue {
        var configuration = Configuration()
        // SQLite counts milliseconds in 32 bits.
        configuration.busyMode = .timeout(min(busyTimeout, 2_000_000))
        configuration.label = "keyfob.vault"
        configuration.prepareDatabase { db in
            try check(db)
            try set(pragmas(for: use), of: db)
        }
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    private static func pragmas(for use: Use) -> String {
        // TRUNCATE with FULL also syncs the journal's new length, so a commit that has returned survives a power cut.
        var pragmas = "PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL"
        // In KiB.
        pragmas += use == .server ? "; PRAGMA cache_size = -64000" : "; PRAGMA cache_size = -16000"
        // FAST overwrites deleted content in pages that stay in use. Pages that become free as a whole, such as the
        // overflow pages of a large secret, keep their ciphertext until they are used again. ON would write each of
        // them once more.
        pragmas += "; PRAGMA secure_delete = FAST"
        return pragmas
    }

    /// Sets pragmas without GRDB's statements, which take a command longer than reading one secret.
    private static func set(_ pragmas: String, of db: Database) throws {
        let result = unsafe sqlite3_exec(db.sqliteConnection, pragmas, nil, nil, nil)
        guard result == SQLITE_OK else {
            throw DatabaseError(
                resultCode: ResultCode(rawValue: result),
                message: unsafe String(cString: sqlite3_errmsg(db.sqliteConnection)))
        }
    }

    private static func identify(_ database: any DatabaseWriter, path: String) throws -> Data {
        let identity = try database.read { db in
            let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
            guard version == Schema.version else {
                throw KeychainError(
                    .vaultTooNew, "the vault \(path) has format \(version); this program knows \(Schema.version).",
                    hint: "Update keyfob. Nothing was changed.")
            }
            return try Data.fetchOne(db, sql: "SELECT value FROM vault WHERE name = 'identity'")
        }
        guard let identity, identity.count == 16 else {
            throw KeychainError(
                .vaultDamaged, "the vault \(path) has lost its identity.", hint: KeychainError.restoring(vault: path))
        }
        return identity
    }

    package func read<Result>(_ tree: RowTreeKey?, _ body: (any StoreReader) throws -> Result) throws -> Result {
        // Read before the transaction begins, so the transaction sees at least this state.
        let newest = newestRecord.withLock { $0 }
        do {
            // Reentrant, because a caller that walks the items may read the secret of the current one.
            return try connection.use { try $0.unsafeReentrantRead { db in
                guard !db.isInsideTransaction else { return try body(SQLiteTransaction(db, tree)) }
                var result: Result?
                try db.inTransaction(.deferred) {
                    let transaction = SQLiteTransaction(db, tree, previous: newest)
                    result = try body(transaction)
                    // A reader sees only committed changes.
                    note(transaction.tree)
                    return .commit
                }
                guard let result else { throw KeychainError(.failed, "a transaction ended without a result.") }
                return result
            } }
        } catch { throw Self.translate(error, path: path, title: title, explain) }
    }

    package func write<Result>(_ tree: RowTreeKey, _ body: (any StoreWriter) throws -> Result) throws -> Result {
        try requireKeychain()
        let newest = newestRecord.withLock { $0 }
        do {
            // Reentrant, so that a nested write can be refused; GRDB would end the process.
            return try connection.use { try $0.unsafeReentrantWrite { db in
                guard !db.isInsideTransaction else {
                    throw KeychainError(
                        .refused, "\(title) cannot be changed from within a reading of it.",
                        hint: "Change it when the reading is over.")
                }
                // GRDB rolls back the transaction if the body throws.
                var result: Result?
                let transaction = SQLiteTransaction(db, tree, previous: newest)
                try db.inTransaction(.immediate) {
                    result = try body(transaction)
                    try transaction.tree?.flush()
                    return .commit
                }
                note(transaction.tree)
                guard let result else { throw KeychainError(.failed, "a transaction ended without a result.") }
                return result
            } }
        } catch { throw Self.translate(error, path: path, title: title, explain) }
    }

    /// Throws if the keychain was removed, even if another one has its path now.
    ///
    /// SQLite would otherwise keep writing to the unlinked file.
    private func requireKeychain() throws {
        // A vault in memory has no file.
        guard let fileNumber else { return }
        guard Self.fileNumber(path) != fileNumber else { return }
        let error = explain(Self.missing(path))
        // Any other vault that cannot be found is left to SQLite, which reports it.
        guard error.code != .noSuchKeychain else { throw error }
    }

    /// Returns the inode number of the file at `path`; `nil` if there is none.
    private static func fileNumber(_ path: String) -> UInt64? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? UInt64(status.st_ino) : nil
    }

    /// Keeps the tree's snapshot if it is newer than the present one.
    private func note(_ tree: RowTree?) {
        guard let snapshot = tree?.snapshot else { return }
        newestRecord.withLock { if snapshot.isBetter(than: $0) { $0 = snapshot } }
    }

    package func integrityFindings(
        _ tree: RowTreeKey?, damage: (SealedRow) throws -> VaultFinding?
    ) throws -> [VaultFinding] {
        do {
            let model = try Schema.columns()
            return try connection.use { try $0.read { db in
                let lacks = try Schema.lacks(db, of: model).map { VaultFinding(.fileDamaged, $0) }
                let pages = try String.fetchAll(db, sql: "PRAGMA integrity_check").filter { $0 != "ok" }
                let findings = lacks + pages.map { VaultFinding(.fileDamaged, $0) }
                // Rows of incomplete tables cannot be checked.
                guard lacks.isEmpty else { return findings }
                let orphans = try Row.fetchAll(db, sql: "PRAGMA foreign_key_check")
                    .map { _ in VaultFinding(.itemIncomplete, "a row refers to one that is missing") }
                let rows = tree == nil ? [] : try SQLiteTransaction(db, tree).recordFindings(damage)
                return findings + orphans + rows
            } }
        } catch { throw Self.translate(error, path: path, title: title, explain) }
    }
}

extension Deadline {
    /// `remaining` in the unit of SQLite's interface; infinity without a limit.
    package var remainingSeconds: TimeInterval { remaining.map { $0 / .seconds(1) } ?? .infinity }
}
