import Logging

/// Whether the vault is as it was left.
extension Keychain {
    /// What is wrong with the vault; empty when it is sound.
    ///
    /// Reads every row: pages that are damaged, rows that another program put back, added or removed. Needs no token
    /// operation once the keychain is unlocked. No finding tells a name or a value.
    ///
    /// - Throws: `KeychainError`; `vaultUnavailable`, and the errors of `unlock()`.
    public func vaultFindings() throws -> [String] {
        try store.integrityFindings(keys().tree)
    }

    /// Takes the rows that are in the vault for the ones that were written last.
    ///
    /// For a vault that another program or a failing disk has changed, and of which there is no backup: old copies of
    /// items pass for new ones afterwards. Look at ``vaultFindings()`` first. Items that are damaged themselves stay so.
    ///
    /// - Returns: How many items the vault has that are whole.
    /// - Throws: `KeychainError`; `vaultBusy`, `vaultUnavailable`, and the errors of `unlock()`.
    public func acceptVault() throws -> Int {
        let keys = try keys()
        let count = try store.write(keys.tree) { writer in try writer.renewRecord(keys.opens) }
        options.logger.warning("the rows of the vault were accepted as they are", metadata: ["count": "\(count)"])
        return count
    }
}
