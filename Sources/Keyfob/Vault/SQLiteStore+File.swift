import CLinux
import Foundation
import GRDB
import GRDBSQLite

/// Checks of a vault's file before SQLite reads it.
extension SQLiteStore {
    /// Checks that the file is a vault before SQLite opens it.
    ///
    /// SQLite would write a header into an empty file, and would change the journal of another program's database.
    ///
    /// - Throws: `KeychainError` with code `vaultDamaged` if the file is not a vault, or `vaultUnavailable` if it
    ///   cannot be read.
    static func checkFile(_ db: Database, path: String) throws {
        let header = try bytes(100, at: 0, of: db, path: path)
        let magic = Array("SQLite format 3".utf8) + [0]
        let application = Int(UInt32(bigEndianBytes: header[68..<72]) ?? 0)
        guard header.starts(with: magic), application == Schema.applicationID else {
            throw KeychainError(
                .vaultDamaged, "\(path) is not a Keyfob vault.", hint: KeychainError.restoring(vault: path))
        }
    }

    /// Reads bytes of the file; those past its end are zero.
    ///
    /// The call uses the connection's own descriptor. Closing another descriptor of the file would release the fcntl(2)
    /// locks that the connections of this process hold on it.
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
        // SQLite fills the part past the end of a short file with zeros.
        guard result == SQLITE_OK || result == ResultCode.SQLITE_IOERR_SHORT_READ.rawValue else {
            throw DatabaseError(resultCode: ResultCode(rawValue: result))
        }
        return bytes
    }
}
