import CLinux
import Foundation
import GRDB
import GRDBSQLite

/// What is looked at before SQLite reads a vault.
extension SQLiteStore {
    /// Checks that the file is a vault before SQLite opens it. SQLite would write a header into an empty file, and
    /// change the journal of another program's database.
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
    }

    /// Bytes of the file; zero behind its end.
    ///
    /// They are read through the connection's own descriptor. Closing another descriptor of the file would drop the
    /// fcntl(2) locks that the connections of this process hold on it.
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
