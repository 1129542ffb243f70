import Logging

/// Whether the vault is as it was left.
extension Keychain {
    /// What is wrong with the vault; empty when it is sound.
    ///
    /// Reads every row, but no secret: pages and attributes that are damaged, rows that another program put back, added
    /// or removed; and whether the token has the keys without which no password opens. No finding tells the name or the
    /// value of an item.
    ///
    /// - Throws: `KeychainError`; `vaultUnavailable`, `tokenAbsent`, and the errors of `unlock()`.
    public func vaultFindings() throws -> [String] {
        let keys = try keys()
        let findings = try store.integrityFindings(keys.tree) + missingWrappingKeys()
        do { return try findings + damagedItems(keys) } catch let error as KeychainError where error.code == .vaultDamaged {
            // Pages from which no row can be read at all.
            return findings.isEmpty ? [error.message] : findings
        }
    }

    /// What nobody notices while the keychain is unlocked, and nobody can mend once it is locked.
    private func missingWrappingKeys() throws -> [String] {
        // Another program has removed it, perhaps since this one found it.
        token.forgetHandles()
        return try wrappingKeyRows().compactMap { row in
            let handle = try token.withSession(.read) { try token.handle(ofSecretKey: row.objectID, in: $0) }
            guard handle == nil else { return nil }
            return "wrapping key \"\(row.keyID)\" is not on token \"\(token.label)\": its passwords cannot be opened"
        }
    }

    private func damagedItems(_ keys: VaultKeys) throws -> [String] {
        var findings: [String] = []
        try store.read(keys.tree) { reader in
            for itemClass in ItemClass.allCases {
                try reader.forEachRow(classDigest: keys.digest(of: itemClass), terms: [], withSecrets: false) { row in
                    // One that is not what was written last has been found already.
                    guard case .current = row.standing else { return true }
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
    /// items pass for new ones afterwards. Look at ``vaultFindings()`` first. Items that are damaged themselves stay
    /// so.
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
