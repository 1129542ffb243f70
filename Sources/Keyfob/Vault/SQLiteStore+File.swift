import CLinux
import Foundation
import GRDB
import GRDBSQLite

/// What is looked at before SQLite reads a vault.
extension SQLiteStore {
    /// Looks at the file before SQLite does, which would write a header into an empty file and change the journal of
    /// another program's database, and at the log beside it, which SQLite would take for the file's own.
    ///
    /// - Throws: `KeychainError` with code `vaultDamaged`; `vaultUnavailable` where the file cannot be read.
    static func checkFile(_ db: Database, path: String) throws {
        let header = try bytes(100, at: 0, of: db, path: path)
        let magic = Array("SQLite format 3".utf8) + [0]
        let application = Int(UInt32(bigEndianBytes: header[68..<72]) ?? 0)
        guard header.starts(with: magic), application == Schema.applicationID else {
            throw KeychainError(
                .vaultDamaged, "\(path) is not a Keyfob vault.", hint: KeychainError.restoring(vault: path))
        }
        try requireOwnLog(db, path: path)
    }

    /// Refuses a log that was not begun on the file as it is, nor on any state that it could have come from by the log:
    /// SQLite would write the pages of the one over those of the other, and spoil both.
    ///
    /// Costs one stat(2) where the log is empty, as everybody leaves it who comes to an end. A kill leaves one, and
    /// whoever has the vault open.
    private static func requireOwnLog(_ db: Database, path: String) throws {
        guard let log = log(of: db), !log.isEmpty else { return }
        // Somebody may begin the log anew while it is read, which does not happen again and again.
        for attempt in 0..<5 {
            if attempt > 0 { usleep(2_000) }
            let mayBelong = try log.mayBelong { pageSize in
                try LogLink(page: bytes(pageSize, at: (LogLink.pageNumber - 1) * pageSize, of: db, path: path))
            }
            if mayBelong { return }
        }
        throw KeychainError(
            .vaultDamaged,
            "the vault \(path) and its log beside it do not belong together: one of them was put back, or exchanged, "
                + "without the other. Nothing was changed.",
            hint: KeychainError.restoring(vault: String(log.path.dropLast("-wal".count))), details: ["path": path])
    }

    /// Begins an empty log with a link. GRDB would begin it, for a server, with a transaction of its own that has none.
    ///
    /// Nothing waits for the disk here: a link that a power cut takes has nothing behind it. To be called before it is
    /// set what commits wait for.
    static func beginLog(of db: Database) throws {
        guard let log = log(of: db), log.isEmpty,
            // One that is too new for this program is not written to.
            try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0 <= Schema.version
        else { return }
        try db.execute(sql: "PRAGMA synchronous = NORMAL")
        try db.inTransaction(.immediate) {
            try LogLink.renew(in: db)
            return .commit
        }
    }

    /// The log of the file that a connection has open, links on the way followed as SQLite does.
    private static func log(of db: Database) -> VaultLog? {
        guard let file = unsafe sqlite3_db_filename(db.sqliteConnection, "main"),
            let log = unsafe sqlite3_filename_wal(file)
        else { return nil }
        return VaultLog(path: unsafe String(cString: log))
    }

    /// Bytes of the file itself, whatever the log has of them; zero behind its end.
    ///
    /// Through the connection's own descriptor: SQLite's locks are those of fcntl(2), and to close any other
    /// descriptor of the file would drop the locks that all connections of this process have on it.
    private static func bytes(_ count: Int, at offset: Int, of db: Database, path: String) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var file: UnsafeMutablePointer<sqlite3_file>?
        let found = unsafe sqlite3_file_control(db.sqliteConnection, nil, SQLITE_FCNTL_FILE_POINTER, &file)
        guard found == SQLITE_OK, let file = unsafe file, let read = unsafe file.pointee.pMethods?.pointee.xRead else {
            throw KeychainError(
                .vaultUnavailable, "the vault \(path) cannot be read.",
                hint: "Check what it is: ls -ld \(ShellWord.quoted(path))",
                details: ["path": path])
        }
        let result = unsafe bytes.withUnsafeMutableBytes {
            unsafe read(file, $0.baseAddress, CInt($0.count), sqlite3_int64(offset))
        }
        // What a short file lacks is zero.
        guard result == SQLITE_OK || result == ResultCode.SQLITE_IOERR_SHORT_READ.rawValue else {
            throw DatabaseError(resultCode: ResultCode(rawValue: result))
        }
        return bytes
    }
}
