import Foundation
import GRDB

/// Translation of SQLite's errors.
extension SQLiteStore {
    /// Translates an error with `translate(_:path:title:)`, then with `explain` if the file no longer exists.
    ///
    /// A vault that another process is removing looks damaged.
    package static func translate(
        _ error: any Error, path: String, title: String, _ explain: (KeychainError) -> KeychainError
    ) -> any Error {
        let translated = translate(error, path: path, title: title)
        guard unsafe access(path, F_OK) != 0, let known = translated as? KeychainError else { return translated }
        return explain(known)
    }

    /// Returns the error for a vault whose file does not exist.
    package static func missing(_ path: String) -> KeychainError {
        KeychainError(
            .vaultUnavailable, "the vault \(path) is missing.",
            hint: "Mount what it lies on. " + KeychainError.restoring(vault: path))
    }

    /// Returns the keychain's error for a result of SQLite. No other code translates these results.
    package static func translate(_ error: any Error, path: String, title: String? = nil) -> any Error {
        let title = title ?? "the vault \(path)"
        guard let error = error as? DatabaseError else {
            guard error is RowDecodingError else { return error }
            // The decoding error would quote the row.
            return damage(title, "a column has another type", path)
        }
        // The number lets a caller distinguish results that share a code here.
        let details = ["path": path, "sqlite": "\(error.resultCode.rawValue)"]
        switch error.resultCode {
        case .SQLITE_CONSTRAINT where error.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE:
            return KeychainError(.duplicateItem, "the item already exists in the keychain.", cause: error.withoutSQL)
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            return KeychainError(
                .vaultBusy, "\(title) is in use by another process.",
                remedies: [Remedy("Wait longer", .change(.timeout))],
                details: details,
                cause: error.withoutSQL)
        case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_FORMAT, .SQLITE_MISMATCH, .SQLITE_CONSTRAINT:
            return damage(title, error.message ?? "\(error.resultCode)", path, cause: error.withoutSQL)
        // The statements are constant, so this error means that the file has other tables.
        case .SQLITE_ERROR where error.isAboutTables:
            return damage(title, error.message ?? "\(error.resultCode)", path, cause: error.withoutSQL)
        case .SQLITE_READONLY, .SQLITE_PERM:
            return KeychainError(
                .refused, "\(title) is read-only; nothing was changed.",
                hint: "Check who may write \(path), and how its file system is mounted.", details: details,
                cause: error.withoutSQL)
        case .SQLITE_FULL:
            return KeychainError.diskFull(at: path, details: details, cause: error.withoutSQL)
        default:
            let directory = URL(fileURLWithPath: path).deletingLastPathComponent()
            if let shortage = DiskSpace.shortage(in: directory, details: details, cause: error.withoutSQL) {
                return shortage
            }
            if let part = deniedPart(of: path) { return KeychainError.file("open", part, EACCES) }
            let place = ShellWord.quoted(directory.filePath)
            return KeychainError(
                .vaultUnavailable, "the vault \(path) cannot be used: \(error.message ?? "\(error.resultCode)").",
                hint: error.resultCode == .SQLITE_IOERR
                    ? "The disk, or the way to it, fails (dmesg), or its file system has no locks: findmnt -T \(place)"
                    : "Check what lies beside it, and who may write there: ls -la \(place)",
                details: details, cause: error.withoutSQL)
        }
    }

    /// Returns the first file of a vault, or its directory, that this process may not open; `nil` if it may open all.
    private static func deniedPart(of path: String) -> String? {
        func isDenied(_ place: String, _ mode: Int32) -> Bool { unsafe access(place, mode) != 0 && errno == EACCES }
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent().filePath
        return ["", "-journal"].map { path + $0 }.first { isDenied($0, R_OK | W_OK) }
            ?? (isDenied(directory, W_OK | X_OK) ? directory : nil)
    }

    private static func damage(
        _ title: String, _ what: String, _ path: String, cause: (any Error)? = nil
    ) -> KeychainError {
        KeychainError(
            .vaultDamaged, "\(title) is damaged: \(what).",
            hint: KeychainError.restoring(vault: path) + "\nNothing was changed.", details: ["path": path],
            cause: cause)
    }
}

extension KeychainError {
    /// Returns the instructions for restoring a vault.
    ///
    /// A journal beside the vault belongs to the present file, so it must be removed.
    package static func restoring(vault path: String) -> String {
        "Restore \(path) from a backup while no program uses it, and remove \(path)-journal if it is there."
    }
}

extension DatabaseError {
    /// Whether this `SQLITE_ERROR` means that a statement does not fit the tables of the file.
    ///
    /// Other errors of this code come from a transaction that SQLite has ended itself, for example on a full disk.
    fileprivate var isAboutTables: Bool {
        let texts = ["no such table", "no such column", "has no column", "no such index", "foreign key mismatch"]
        return texts.contains { message?.contains($0) ?? false }
    }

    /// The same error without its statement and arguments, which would put digests and ciphertext into messages.
    fileprivate var withoutSQL: DatabaseError {
        DatabaseError(resultCode: extendedResultCode, message: message)
    }
}
