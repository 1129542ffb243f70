import CLinux
import Foundation
import GRDB
import GRDBSQLite
import KeyfobPrimitives
import Synchronization

/// The vault in one SQLite file, through GRDB.
///
/// Write-ahead logging, so that readers of other processes never wait for a writer; every transaction
/// is synced before it returns, because a script that was told "Stored" may pull the plug next.
final class SQLiteStore: ItemStore {
    let identity: Data
    private let connection: VaultConnection
    private let path: String
    /// What messages call the vault.
    private let title: String
    /// What an error means to the keychain.
    private let explain: @Sendable (KeychainError) -> KeychainError
    /// Formats only grow: once it is the newest nobody need look again.
    private let isNewest = Atomic(false)
    /// The newest record of the rows that this process has seen, as far as it was checked.
    private let newestRecord = Lock<RowTree.Snapshot?>(nil)

    /// How a process is going to use the store.
    enum Use: Sendable {
        /// Many calls from several threads: readers have connections of their own.
        case server
        /// A few calls and out: one connection, which opens in half the time, and whose end wants no thread: see
        /// `VaultConnection.closeKeepingQueue`.
        case oneShot
        /// As `oneShot`, in a process that goes on, where what that leaves would pile up.
        case look
    }

    /// Opens a vault and brings its schema up to date.
    ///
    /// - Parameters:
    ///   - keychain: The name of the keychain that it belongs to, for messages.
    ///   - busyTimeout: How long a call waits for another process that keeps it out, in seconds.
    ///   - explain: What an error means to that keychain where the file is not there any more.
    /// - Throws: `KeychainError`; `vaultUnavailable` where the file is missing or cannot be opened, `refused` where
    ///   nobody but others may read it,
    ///   `vaultDamaged` where it is not a vault or not a database, `vaultTooNew` where a newer version wrote it,
    ///   `unsafeFile` where others than the owner can write it or its directory.
    init(
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
        // Nobody could read anything in it by that, but exchange it for an earlier copy, or destroy it.
        for suffix in ["", "-wal"] { try PrivateFile.requireUnwritableByOthers(path + suffix) }
        guard unsafe access(path, R_OK) == 0 else {
            throw KeychainError.file("read", path, errno)
        }
        do {
            connection = try VaultConnection(keepsQueue: use == .oneShot) {
                try Self.connectAtAll(path: path, use: use, busyTimeout: busyTimeout) {
                    try Self.checkFile($0, path: path)
                }
            }
            identity = try connection.use { try Self.identify($0, path: path) }
        } catch { throw Self.translate(error, path: path, title: title, explain) }
    }

    /// Makes a new, empty vault of mode 0600.
    ///
    /// - Throws: `KeychainError`; `duplicateKeychain` where the file exists, `refused`, `diskFull`, `fileUnavailable`
    ///   or `vaultUnavailable` where it cannot be made.
    static func create(path: String, identity: Data) throws {
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
            try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
            try database.write { db in
                try Schema.create(db)
                try db.execute(sql: "INSERT INTO vault (name, value) VALUES ('identity', ?)", arguments: [identity])
            }
            try database.close()
        } catch {
            unsafe unlink(path)
            throw translate(error, path: path)
        }
    }

    /// Removes a vault with what lies beside it: SQLite's log and its index, the lock of those who change the token,
    /// and the witnesses of their plans. Nothing where it is gone already.
    ///
    /// The file itself goes first, and for good. A log without it is nobody's, and goes the next time; but the file
    /// without its log would open, and lack what was committed last.
    ///
    /// - Throws: As `PrivateFile.remove`; `fileUnavailable` where the directory cannot be synced.
    static func remove(path: String) throws(KeychainError) {
        let file = URL(fileURLWithPath: path, isDirectory: false)
        if try PrivateFile.remove(file) { try PrivateFile.synchronizeDirectory(file.deletingLastPathComponent()) }
        for suffix in ["-wal", "-shm", ".lock"] {
            try PrivateFile.remove(URL(fileURLWithPath: path + suffix, isDirectory: false))
        }
        try Witness.removeAll(ofPlansIn: path)
    }

    /// As `connect`, and a command's connection also where the index of the log has no room on the disk: what is there
    /// can be read all the same.
    ///
    /// The index is a file that all who have the vault open share. Who has it for himself keeps it in his own memory
    /// (SQLite's exclusive locking mode): he is given the lock of the whole file before he reads anything of the log,
    /// and not while anybody else has the vault open, whom that lock keeps out afterwards.
    private static func connectAtAll(
        path: String, use: Use, busyTimeout: TimeInterval, check: @escaping @Sendable (Database) throws -> Void
    ) throws -> any DatabaseWriter {
        do {
            return try connect(path: path, use: use, busyTimeout: busyTimeout, check: check)
        } catch let error as DatabaseError {
            // A server would keep all others out for as long as it runs.
            guard use != .server, [.SQLITE_IOERR, .SQLITE_FULL, .SQLITE_CANTOPEN].contains(error.resultCode) else {
                throw error
            }
            do {
                return try connect(path: path, use: use, isAlone: true, busyTimeout: busyTimeout, check: check)
            } catch let second as DatabaseError {
                // Another command, for as long as it runs; of anything else the first error says more.
                throw second.resultCode == .SQLITE_BUSY ? second : error
            }
        }
    }

    /// - Parameters:
    ///   - isAlone: Whether nobody else may have the vault open.
    ///   - check: Called with each new connection before anything of the file is read or locked.
    static func connect(
        path: String, use: Use, isAlone: Bool = false, busyTimeout: TimeInterval,
        check: @escaping @Sendable (Database) throws -> Void = { _ in }
    ) throws -> any DatabaseWriter {
        var configuration = Configuration()
        // SQLite counts milliseconds in 32 bits.
        configuration.busyMode = .timeout(min(busyTimeout, 2_000_000))
        configuration.label = "keyfob.vault"
        configuration.prepareDatabase { db in
            try check(db)
            // Before the others, which read.
            if isAlone { try set("PRAGMA locking_mode = EXCLUSIVE", of: db) }
            if use == .server, !db.configuration.readonly { try beginLog(of: db) }
            try set(pragmas(for: use), of: db)
            // The last connection to close would otherwise checkpoint, sync and delete the log, and the next one
            // make it anew: four syncs for a command that reads one secret.
            var isPersistent: CInt = 1
            unsafe sqlite3_file_control(db.sqliteConnection, nil, SQLITE_FCNTL_PERSIST_WAL, &isPersistent)
        }
        switch use {
        case .server:
            let pool = try DatabasePool(path: path, configuration: configuration)
            // GRDB has set it to NORMAL meanwhile, as it makes sure of the mode.
            try pool.writeWithoutTransaction { try $0.execute(sql: durability) }
            return pool
        case .oneShot, .look:
            // The mode is part of the file since it was made; setting it again would write.
            return try DatabaseQueue(path: path, configuration: configuration)
        }
    }

    /// GRDB sets NORMAL with write-ahead logging, which may lose the last commits when the power goes.
    private static let durability = "PRAGMA synchronous = FULL"

    private static func pragmas(for use: Use) -> String {
        // A command's connection takes durability from here; a server's is set again.
        var pragmas = durability + "; PRAGMA wal_autocheckpoint = 4000"
        // In KiB: a server keeps the upper levels of a large vault's indexes.
        pragmas += use == .server ? "; PRAGMA cache_size = -64000" : "; PRAGMA cache_size = -16000"
        // What is deleted is overwritten in the pages that stay in use. Those that become free as a whole, such as the
        // overflow pages of a large secret, keep what they hold until they are used again, as the log does: ciphertext,
        // for there is nothing else in them. ON would write each of those pages once more.
        pragmas += "; PRAGMA secure_delete = FAST"
        // The log is kept, but empty: whoever opens a vault that nobody else has open reads a log again that has
        // anything in it, and at its end writes it, with two syncs, into the database once more.
        if use != .server { pragmas += "; PRAGMA journal_size_limit = 0" }
        return pragmas
    }

    /// Sets pragmas, past GRDB's statements: those take a command that reads one secret longer than reading it.
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
            guard try Int.fetchOne(db, sql: "PRAGMA application_id") == Schema.applicationID else {
                throw KeychainError(
                    .vaultDamaged, "\(path) is not a Keyfob vault.", hint: KeychainError.restoring(vault: path))
            }
            let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
            guard version <= Schema.version else {
                throw KeychainError(
                    .vaultTooNew,
                    "the vault \(path) has format \(version); this program knows up to \(Schema.version).",
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

    var format: Int {
        get throws {
            if isNewest.load(ordering: .relaxed) { return Schema.version }
            do {
                let format = try connection.use {
                    try $0.unsafeReentrantRead { try Int.fetchOne($0, sql: "PRAGMA user_version") ?? 0 }
                }
                if format == Schema.version { isNewest.store(true, ordering: .relaxed) }
                return format
            } catch { throw Self.translate(error, path: path, title: title, explain) }
        }
    }

    func read<Result>(_ tree: RowTreeKey?, _ body: (any StoreReader) throws -> Result) throws -> Result {
        // Taken before the transaction begins, which therefore sees at least this much.
        let newest = newestRecord.withLock { $0 }
        do {
            // Reentrant: a caller that walks the items may ask for the secret of the one at hand.
            return try connection.use { try $0.unsafeReentrantRead { db in
                guard !db.isInsideTransaction else { return try body(SQLiteTransaction(db, tree)) }
                var result: Result?
                try db.inTransaction(.deferred) {
                    let transaction = SQLiteTransaction(db, tree, previous: newest)
                    result = try body(transaction)
                    // What a reader sees was committed.
                    note(transaction.tree)
                    return .commit
                }
                guard let result else { throw KeychainError(.failed, "a transaction ended without a result.") }
                return result
            } }
        } catch { throw Self.translate(error, path: path, title: title, explain) }
    }

    func write<Result>(_ tree: RowTreeKey, _ body: (any StoreWriter) throws -> Result) throws -> Result {
        try requireKeychain()
        let newest = newestRecord.withLock { $0 }
        do {
            // Reentrant, so as to refuse it: GRDB would end the process.
            return try connection.use { try $0.unsafeReentrantWrite { db in
                guard !db.isInsideTransaction else {
                    throw KeychainError(
                        .refused, "\(title) cannot be changed while its items are being walked through.",
                        hint: "Change them when the walk is over.")
                }
                // Rolled back whole by GRDB when the body throws.
                var result: Result?
                let transaction = SQLiteTransaction(db, tree, previous: newest)
                let changes = db.totalChangesCount
                try db.inTransaction(.immediate) {
                    result = try body(transaction)
                    try transaction.tree?.flush()
                    if db.totalChangesCount != changes { try LogLink.renew(in: db) }
                    return .commit
                }
                note(transaction.tree)
                guard let result else { throw KeychainError(.failed, "a transaction ended without a result.") }
                return result
            } }
        } catch { throw Self.translate(error, path: path, title: title, explain) }
    }

    /// Refuses a keychain that was removed: SQLite would go on writing into a file that nobody finds any more.
    private func requireKeychain() throws {
        guard unsafe access(path, F_OK) != 0 else { return }
        let error = explain(Self.missing(path))
        // One that is out of sight is SQLite's to tell of.
        guard error.code != .noSuchKeychain else { throw error }
    }

    /// Remembers how far the record of the rows has come.
    private func note(_ tree: RowTree?) {
        guard let snapshot = tree?.snapshot else { return }
        newestRecord.withLock { if snapshot.isBetter(than: $0) { $0 = snapshot } }
    }

    func integrityFindings(
        _ tree: RowTreeKey?, damage: (SealedRow) throws -> VaultFinding?
    ) throws -> [VaultFinding] {
        do {
            let model = try Schema.columns()
            return try connection.use { try $0.read { db in
                let lacks = try Schema.lacks(db, of: model).map { VaultFinding(.fileDamaged, $0) }
                let pages = try String.fetchAll(db, sql: "PRAGMA integrity_check").filter { $0 != "ok" }
                let findings = lacks + pages.map { VaultFinding(.fileDamaged, $0) }
                // Of rows whose tables are not whole nothing can be told.
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
    /// `remaining` as SQLite's interface wants it.
    var remainingSeconds: TimeInterval { remaining.map { $0 / .seconds(1) } ?? .infinity }
}
