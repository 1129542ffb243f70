import Foundation
import Logging
import PKCS11

/// Checking the integrity of the vault.
extension KeychainIntegrity {
    /// The findings of a check of the vault; empty if there are none.
    ///
    /// Reads every row, but no secret. It checks for damaged pages and attributes, for rows that another program
    /// restored, added or removed, and for damaged records of interrupted changes. It checks that the token has the
    /// wrapping keys of the passwords, has the keys and certificates of the vault, and that all its objects can be
    /// read. A finding contains the name of a key or certificate, but no value of an item.
    ///
    /// - Throws: `KeychainError`; `vaultUnavailable`, `tokenAbsent`, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func findings() throws -> [VaultFinding] {
        try keychain.withDeadline { [self] in
            let keys = try keychain.vaultKeys()
            let lost = try missingWrappingKeys() + damagedWrappingKeys(keys) + inactiveWrappingKeys()
                + unreadableObjectFindings()
            var rows: [VaultFinding] = []
            do {
                rows = try keychain.store.integrityFindings(keys.tree, damage: keys.damage)
                rows += try unlistedObjectFindings(keys)
                do { return try rows + lost + keychain.tokenItems.missingObjectFindings(keys) } catch let error
                    as KeychainError
                    where error.code == .failed && lost.contains(where: { $0.code == .objectUnreadable })
                {
                    // The token fails to read one object, which is a finding already.
                    return rows + lost
                }
            } catch let error as KeychainError where error.code == .vaultDamaged {
                // Damaged pages or tables, from which no row can be read.
                return (rows.isEmpty ? [VaultFinding(.fileDamaged, error.message)] : rows) + lost
            }
        }
    }

    /// The passwords whose secret cannot be opened, although their row is intact.
    ///
    /// This is separate from ``findings()``, which reads no secret: it opens every secret with one token operation
    /// each, which takes a card up to about a second. A finding contains the name of the item, which the user needs to
    /// store it again or remove it. Items with a damaged row are skipped, since ``findings()`` reports them.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`, and of the token.
    @available(*, noasync, message: "use the asynchronous form")
    public func secretFindings() throws -> [VaultFinding] {
        try keychain.withDeadline { [self] in
            let keys = try keychain.vaultKeys()
            var items: [Item] = []
            for itemClass in [ItemClass.genericPassword, .internetPassword] {
                var criteria = Criteria(itemClass)
                criteria.includesSynchronizable = true
                let normalized = try criteria.normalized()
                try keychain.vaultRows.walk([normalized], keys, onDamage: { _, _ in }) { _, item in
                    items.append(item)
                    return true
                }
            }
            return try items.compactMap { item in
                do { _ = try keychain.secret(of: item) } catch let error as KeychainError
                    where [.vaultDamaged, .wrappingKeyMissing].contains(error.code)
                {
                    return Self.secretFinding(item, error)
                } catch let error as KeychainError where error.code == .itemNotFound {
                    // Another process removed the item.
                    return nil
                }
                return nil
            }
        }
    }

    private static func secretFinding(_ item: Item, _ error: KeychainError) -> VaultFinding {
        let names: [AttributeName] = item.itemClass == .internetPassword ? [.label, .server] : [.service, .label]
        let name = names.lazy.compactMap { item.attributes[$0]?.text }.first { !$0.isEmpty } ?? ""
        let account = item.attributes[.account]?.text ?? ""
        // If the wrapping key is missing, the item itself is not damaged.
        let advice = error.code == .vaultDamaged ? ": store it anew, or remove the item" : ""
        return VaultFinding(
            .secretDamaged, "the secret of \"\(name)\"\(account.isEmpty ? "" : " (\(account))") does not open\(advice)",
            item: error.details["item"], itemClass: item.itemClass)
    }

    /// The findings about wrapping keys that the token has lost; part of ``findings()``.
    ///
    /// The loss goes unnoticed while the keychain is unlocked, and cannot be repaired once it is locked. The vault
    /// itself is intact.
    ///
    /// - Throws: `KeychainError`; `vaultUnavailable`, `tokenAbsent`, and the errors of `unlock()`.
    package func missingWrappingKeys() throws -> [VaultFinding] {
        try keychain.vaultRows.wrappingKeyRows().compactMap { row in
            if try isOnToken(row) { return nil }
            return VaultFinding(
                .wrappingKeyAbsent,
                "wrapping key \"\(row.keyID)\" is not on token \"\(keychain.token.label)\": "
                    + "its passwords cannot be opened")
        }
    }

    /// The findings about wrapping keys that are on the token and do not open what they sealed.
    private func damagedWrappingKeys(_ keys: VaultKeys) throws -> [VaultFinding] {
        try keychain.vaultRows.wrappingKeyRows().compactMap { row in
            guard try isOnToken(row) else { return nil }
            let reason: String
            do {
                if try keychain.vaultRows.provesOwn(row, keys) { return nil }
                reason = "it was damaged, or another program has put it there"
            } catch let error as KeychainError where ![.tokenAbsent, .locked, .timedOut].contains(error.code) {
                reason = error.message
            }
            return VaultFinding(
                .wrappingKeyDamaged,
                "wrapping key \"\(row.keyID)\" does not open what it sealed (\(reason)). Nothing is sealed with it any "
                    + "more; passwords that only it opens need a backup of the token's files")
        }
    }

    private func isOnToken(_ row: WrappingKeyRow) throws -> Bool {
        try keychain.token.hasWrappingKey(row.objectID, WrapSuites.named(row.suite).keyClass)
    }

    /// The finding about a vault without an active wrapping key.
    private func inactiveWrappingKeys() throws -> [VaultFinding] {
        guard keychain.configuration.takesPasswords else { return [] }
        guard try !keychain.vaultRows.wrappingKeyRows().contains(where: \.isActive) else { return [] }
        return [
            VaultFinding(
                .wrappingKeyInactive,
                "the vault has no active wrapping key: another program has changed it, and no password can be stored")
        ]
    }

    /// Findings about objects on the token that cannot be read, with the file if it is empty.
    private func unreadableObjectFindings() throws -> [VaultFinding] {
        var empty = try keychain.token.emptyFiles()
        if !empty.isEmpty {
            // Another program may be making the object just now; then its file is not empty for long.
            usleep(200_000)
            let second = try keychain.token.emptyFiles()
            empty = empty.filter { second.contains($0) }
        }
        var findings = empty.map { path in
            VaultFinding(
                .objectUnreadable,
                "\(path) is empty: a key or certificate was damaged, or a program was killed while it made one. "
                    + "Restore the file from a backup; if nothing is missing, remove it")
        }
        do {
            let others = try keychain.token.readObjects().unread - empty.count
            if others > 0 {
                findings.append(
                    VaultFinding(
                        .objectUnreadable,
                        "\(others) \(others == 1 ? "object" : "objects") on token "
                            + "\"\(keychain.token.label)\" cannot be read: look again, and if that "
                            + "does not help restore the token's files from a backup"))
            }
        } catch let error as KeychainError where error.code == .failed {
            // One unreadable object must not hide other findings.
            findings.append(VaultFinding(.objectUnreadable, error.message))
        }
        return findings
    }

    /// The findings about objects that interrupted changes have left on the token and that are not listed.
    private func unlistedObjectFindings(_ keys: VaultKeys) throws -> [VaultFinding] {
        try unlistedObjects(keys).map { unfinished, object in
            let kind = object.objectClass == .certificate ? "certificate" : "key"
            let name = unfinished.name?.text.map { " \"\($0)\"" } ?? ""
            return VaultFinding(
                .objectUnlisted,
                "an interrupted command has left \(kind)\(name) (id \(object.id.hexadecimal)) on token "
                    + "\"\(keychain.token.label)\": the same command uses it, or it can be removed",
                itemClass: object.itemClass)
        }
    }

    private func unlistedObjects(_ keys: VaultKeys) throws -> [(unfinished: UnfinishedObject, object: TokenObject)] {
        let pending = try keychain.store.read(keys.tree) { try $0.unfinishedRows() }.compactMap {
            row -> UnfinishedObject? in
            // A damaged row is a separate finding.
            keys.opens(row) ? try UnfinishedObject(row, keys) : nil
        }.filter { $0.state == .pending }
        guard !pending.isEmpty else { return [] }
        return try keychain.token.readObjects().objects.compactMap { object in
            pending.first { $0.matches(object) }.map { ($0, object) }
        }
    }

    /// Destroys the objects that interrupted changes have left on the token, and removes empty object files of SoftHSM.
    ///
    /// - Returns: What was removed; see ``VaultFinding/Code/objectUnlisted`` and
    ///   ``VaultFinding/Code/objectUnreadable``.
    /// - Throws: `KeychainError`; `vaultBusy`, and the errors of `unlock()` and of the token.
    @available(*, noasync, message: "use the asynchronous form")
    public func removeUnlistedObjects() throws -> [VaultFinding] {
        try keychain.withDeadline { [self] in
            let keys = try keychain.vaultKeys()
            let findings = try unlistedObjectFindings(keys) + unreadableObjectFindings()
            try keychain.writer(keys).discardPending()
            let left = Set(try unlistedObjectFindings(keys) + unreadableObjectFindings())
            return findings.filter { !left.contains($0) }
        }
    }

    /// Accepts the current rows of the vault as valid.
    ///
    /// Use this for a vault that another program or a failing disk has changed, and that has no backup. Old copies of
    /// items are then accepted as current, so check ``findings()`` first. Damaged items and their records stay as
    /// they are (see ``removeDamagedItems()``). Keys and certificates that are no longer on the token are forgotten.
    ///
    /// - Returns: The number of intact items in the vault.
    /// - Throws: `KeychainError`; `vaultBusy`, `vaultUnavailable`, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func acceptVault() throws -> Int {
        try keychain.withDeadline { [self] in
            let keys = try keychain.vaultKeys()
            let missing: [TokenItems.MissingObject]
            do { missing = try keychain.tokenItems.missingObjects(keys).filter { !$0.mayBeUnread } } catch let error
                as KeychainError where error.code == .vaultDamaged
            {
                // The valid rows are unknown before they are accepted. The next check reports objects that are gone.
                missing = []
            }
            let count = try keychain.store.write(keys.tree) { writer in
                let count = try writer.renewRecord(keys.opens)
                for row in missing { try writer.delete(rowID: row.rowID) }
                return count - missing.count
            }
            keychain.options.logger.warning(
                "the rows of the vault were accepted as they are", metadata: ["count": "\(count)"])
            return count
        }
    }

    /// Removes the rows that fail their integrity check.
    ///
    /// These rows cannot be read, and every listing is incomplete while they exist. A damaged password is lost. For a
    /// certificate or a key, only the attributes in the vault are lost, such as its trust; the object stays on the
    /// token. For an interrupted change, the record is lost, so its objects may be left on the token. The vault keeps
    /// no trace of removed rows: check ``findings()`` first, and look for a backup.
    ///
    /// - Returns: The findings about the removed rows.
    /// - Throws: `KeychainError`; `vaultBusy`, `vaultUnavailable`, `vaultDamaged` if the record of the rows is damaged
    ///   too, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func removeDamagedItems() throws -> [VaultFinding] {
        try keychain.withDeadline { [self] in
            let keys = try keychain.vaultKeys()
            let removed = try keychain.store.write(keys.tree) { writer in
                try writer.deleteRows(keys.damage)
            }
            keychain.options.logger.warning(
                "damaged rows of the vault were removed", metadata: ["count": "\(removed.count)"])
            return removed
        }
    }
}

extension VaultKeys {
    /// The finding about a row that cannot be opened; `nil` if it opens, whether or not it is current.
    func damage(_ row: SealedRow) -> VaultFinding? {
        guard !opens(row) else { return nil }
        return VaultFinding(
            .itemDamaged, row, itemClass: itemClass(of: row.classDigest), "fails its integrity check")
    }
}
