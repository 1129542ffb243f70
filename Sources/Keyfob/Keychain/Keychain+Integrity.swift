import Logging

/// Whether the vault is as it was left.
extension Keychain {
    /// What is wrong with the vault; empty when it is sound.
    ///
    /// Reads every row, but no secret: pages and attributes that are damaged, rows that another program put back, added
    /// or removed. Needs no token operation once the keychain is unlocked. No finding tells a name or a value.
    ///
    /// - Throws: `KeychainError`; `vaultUnavailable`, and the errors of `unlock()`.
    public func vaultFindings() throws -> [String] {
        let keys = try keys()
        let findings = try store.integrityFindings(keys.tree)
        do { return try findings + damagedItems(keys) } catch let error as KeychainError where error.code == .vaultDamaged {
            // Pages from which no row can be read at all.
            return findings.isEmpty ? [error.message] : findings
        }
    }

    private func damagedItems(_ keys: VaultKeys) throws -> [String] {
        var findings: [String] = []
        try store.read(keys.tree) { reader in
            for itemClass in ItemClass.allCases {
                try reader.forEachRow(classDigest: keys.digest(of: itemClass), terms: [], withSecrets: false) { row in
                    do { _ = try keys.openAttributes(row) } catch let error as KeychainError
                        where error.code == .vaultDamaged
                    {
                        findings.append("item \(row.identity.hexadecimal) fails its integrity check")
                    }
                    return true
                }
            }
        }
        return findings
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
