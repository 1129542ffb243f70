package import Foundation
import GRDB

/// Copies of a vault.
extension SQLiteStore {
    /// Writes a copy of a vault to a new file of mode 0600 while other processes use the vault.
    ///
    /// The copy contains every transaction that was committed before the call.
    ///
    /// - Parameters:
    ///   - path: The vault.
    ///   - target: The new file.
    ///   - keychain: The name of the keychain, for messages.
    ///   - busyTimeout: How long to wait for another process that keeps the vault locked, in seconds.
    /// - Throws: `KeychainError` with code `refused` if an interrupted removal is not finished, `vaultUnavailable` if
    ///   the vault is missing or cannot be used, `vaultDamaged`, `vaultTooNew`, `unsafeFile`, `vaultBusy` or
    ///   `diskFull`.
    package static func copy(_ path: String, to target: String, keychain: String, busyTimeout: TimeInterval) throws {
        // Checks that the file is a vault and that other users cannot write it.
        _ = try SQLiteStore(path: path, keychain: keychain, use: .look, busyTimeout: busyTimeout)
        do {
            let database = try connect(path: path, use: .look, busyTimeout: busyTimeout)
            let removals = try database.read { db in
                try Int.fetchOne(
                    db, sql: "SELECT COUNT(*) FROM item WHERE state = ?", arguments: [RowState.removing.rawValue])
            }
            // A restored copy would finish the removal and destroy a key that was imported again in the meantime.
            guard removals == 0 else {
                throw KeychainError(
                    .refused, "an interrupted removal of keychain \"\(keychain)\" is not finished; no backup was made.",
                    hint: "Unlock the keychain, which finishes the removal, and try again.")
            }
            try database.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO ?", arguments: [target]) }
            try database.close()
        } catch { throw translate(error, path: path, title: "keychain \"\(keychain)\"") }
        guard unsafe chmod(target, 0o600) == 0 else { throw KeychainError.file("protect", target, errno) }
    }
}
