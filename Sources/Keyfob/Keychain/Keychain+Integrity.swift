import Foundation
import Logging
import PKCS11

/// Whether the vault is as it was left.
extension Keychain {
    /// What is wrong with the vault; empty when it is sound.
    ///
    /// Reads every row, but no secret: pages and attributes that are damaged, rows that another program put back, added
    /// or removed, plans of interrupted changes that are damaged; whether the token has the keys without which no
    /// password opens, and the keys and certificates of which the vault knows; and whether all objects on it can be
    /// read. Only of keys and certificates a finding tells the name; none tells the value of an item.
    ///
    /// - Throws: `KeychainError`; `vaultUnavailable`, `tokenAbsent`, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func vaultFindings() throws -> [VaultFinding] {
        let keys = try keys()
        let lost = try missingWrappingKeys() + damagedWrappingKeys(keys) + inactiveWrappingKeys()
            + unreadableObjectFindings()
        var rows: [VaultFinding] = []
        do {
            rows = try store.integrityFindings(keys.tree, damage: keys.damage)
            rows += try unlistedObjectFindings(keys)
            do { return try rows + lost + missingObjectFindings(keys) } catch let error as KeychainError
                where error.code == .failed && lost.contains(where: { $0.code == .objectUnreadable })
            {
                // The token fails on one object, of which a finding tells already.
                return rows + lost
            }
        } catch let error as KeychainError where error.code == .vaultDamaged {
            // Pages, or tables, from which no row can be read at all.
            return (rows.isEmpty ? [VaultFinding(.fileDamaged, error.message)] : rows) + lost
        }
    }

    /// Passwords whose secret does not open, though they are whole otherwise; none of what they hold is given out.
    ///
    /// Besides ``vaultFindings()``, which reads no secret: it opens every one, by a token operation each, which a card
    /// may take a good part of a second for. A finding tells the name of the item, by which it can be stored anew or
    /// removed. Items that are damaged themselves are passed over: they are findings of the others.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`, and of a token that cannot be asked.
    @available(*, noasync, message: "use the asynchronous form")
    public func secretFindings() throws -> [VaultFinding] {
        let keys = try keys()
        var items: [Item] = []
        for itemClass in [ItemClass.genericPassword, .internetPassword] {
            var criteria = Criteria(itemClass)
            criteria.includesSynchronizable = true
            let normalized = try criteria.normalized()
            try walk([normalized], keys, onDamage: { _, _ in }) { _, item in
                items.append(item)
                return true
            }
        }
        return try items.compactMap { item in
            do { _ = try secret(of: item) } catch let error as KeychainError
                where [.vaultDamaged, .wrappingKeyMissing].contains(error.code)
            {
                return Self.secretFinding(item, error)
            } catch let error as KeychainError where error.code == .itemNotFound {
                // Removed meanwhile.
                return nil
            }
            return nil
        }
    }

    private static func secretFinding(_ item: Item, _ error: KeychainError) -> VaultFinding {
        let names: [AttributeName] = item.itemClass == .internetPassword ? [.label, .server] : [.service, .label]
        let name = names.lazy.compactMap { item.attributes[$0]?.text }.first { !$0.isEmpty } ?? ""
        let account = item.attributes[.account]?.text ?? ""
        // Without its key it is not the item's own fault.
        let advice = error.code == .vaultDamaged ? ": store it anew, or remove the item" : ""
        return VaultFinding(
            .secretDamaged, "the secret of \"\(name)\"\(account.isEmpty ? "" : " (\(account))") does not open\(advice)",
            item: error.details["item"], itemClass: item.itemClass)
    }

    /// Findings about keys that the token has lost, which are among ``vaultFindings()``: what nobody notices while the
    /// keychain is unlocked, and nobody can mend once it is locked. The vault is not to blame for them.
    ///
    /// - Throws: As `vaultFindings()`.
    package func missingWrappingKeys() throws -> [VaultFinding] {
        try wrappingKeyRows().compactMap { row in
            if try token.hasSecretKey(row.objectID) { return nil }
            return VaultFinding(
                .wrappingKeyAbsent,
                "wrapping key \"\(row.keyID)\" is not on token \"\(token.label)\": its passwords cannot be opened")
        }
    }

    /// Findings about wrapping keys that are on the token and do not open what they sealed.
    private func damagedWrappingKeys(_ keys: VaultKeys) throws -> [VaultFinding] {
        try wrappingKeyRows().compactMap { row in
            guard try token.hasSecretKey(row.objectID) else { return nil }
            let reason: String
            do {
                if try provesOwn(row, keys) { return nil }
                reason = "it was damaged, or somebody else has put it there"
            } catch let error as KeychainError where ![.tokenAbsent, .locked, .timedOut].contains(error.code) {
                reason = error.message
            }
            return VaultFinding(
                .wrappingKeyDamaged,
                "wrapping key \"\(row.keyID)\" does not open what it sealed (\(reason)). Nothing is sealed with it any "
                    + "more; passwords that only it opens need a backup of the token's files")
        }
    }

    /// The finding about a vault that has no key to seal with, whatever opens what it has.
    private func inactiveWrappingKeys() throws -> [VaultFinding] {
        guard try !wrappingKeyRows().contains(where: \.isActive) else { return [] }
        return [
            VaultFinding(
                .wrappingKeyInactive,
                "the vault has no active wrapping key: another program has changed it, and no password can be stored")
        ]
    }

    /// Findings about objects on the token that cannot be read, with the file if it is empty.
    private func unreadableObjectFindings() throws -> [VaultFinding] {
        var empty = try token.emptyFiles()
        if !empty.isEmpty {
            // Another program may be making the object just now; then its file is not empty for long.
            usleep(200_000)
            let second = try token.emptyFiles()
            empty = empty.filter { second.contains($0) }
        }
        var findings = empty.map { path in
            VaultFinding(
                .objectUnreadable,
                "\(path) is empty: a key or certificate was damaged, or a program was killed while it made one. "
                    + "Restore the file from a backup; if nothing is missing, remove it")
        }
        do {
            let others = try token.readObjects().unread - empty.count
            if others > 0 {
                findings.append(
                    VaultFinding(
                        .objectUnreadable,
                        "\(others) \(others == 1 ? "object" : "objects") on token \"\(token.label)\" cannot be read: look "
                            + "again, and if that does not help restore the token's files from a backup"))
            }
        } catch let error as KeychainError where error.code == .failed {
            // One object on which the token fails hides nothing else that is wrong.
            findings.append(VaultFinding(.objectUnreadable, error.message))
        }
        return findings
    }

    /// Findings about objects that interrupted changes have left on the token. No list shows them.
    private func unlistedObjectFindings(_ keys: VaultKeys) throws -> [VaultFinding] {
        try unlistedObjects(keys).map { unfinished, object in
            let kind = object.objectClass == .certificate ? "certificate" : "key"
            let name = unfinished.name?.text.map { " \"\($0)\"" } ?? ""
            return VaultFinding(
                .objectUnlisted,
                "an interrupted command has left \(kind)\(name) (id \(object.id.hexadecimal)) on token "
                    + "\"\(token.label)\": the same command uses it, or it can be removed",
                itemClass: object.itemClass)
        }
    }

    private func unlistedObjects(_ keys: VaultKeys) throws -> [(unfinished: UnfinishedObject, object: TokenObject)] {
        let pending = try store.read(keys.tree) { try $0.unfinishedRows() }.compactMap { row -> UnfinishedObject? in
            // A damaged row is a finding of its own.
            keys.opens(row) ? try UnfinishedObject(row, keys) : nil
        }.filter { $0.state == .pending }
        guard !pending.isEmpty else { return [] }
        return try token.readObjects().objects.compactMap { object in
            pending.first { $0.matches(object) }.map { ($0, object) }
        }
    }

    /// Destroys the objects that interrupted changes have left on the token, and removes empty object files of SoftHSM.
    ///
    /// - Returns: What was removed; see ``VaultFinding/Code/objectUnlisted`` and ``VaultFinding/Code/objectUnreadable``.
    /// - Throws: `KeychainError`; `vaultBusy`, and the errors of `unlock()` and of the token.
    @available(*, noasync, message: "use the asynchronous form")
    public func removeUnlistedObjects() throws -> [VaultFinding] {
        let keys = try keys()
        let findings = try unlistedObjectFindings(keys) + unreadableObjectFindings()
        try writer(keys).discardPending()
        let left = Set(try unlistedObjectFindings(keys) + unreadableObjectFindings())
        return findings.filter { !left.contains($0) }
    }

    /// Takes the rows that are in the vault for the ones that were written last.
    ///
    /// For a vault that another program or a failing disk has changed, and of which there is no backup: old copies of
    /// items pass for new ones afterwards. Look at ``vaultFindings()`` first. Items that are damaged themselves stay
    /// so, and so does what is recorded of them (see ``removeDamagedItems()``); keys and certificates that are not on
    /// the token any more are forgotten.
    ///
    /// - Returns: How many items the vault has that are whole.
    /// - Throws: `KeychainError`; `vaultBusy`, `vaultUnavailable`, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func acceptVault() throws -> Int {
        let keys = try keys()
        let missing: [MissingObject]
        do { missing = try missingObjects(keys).filter { !$0.mayBeUnread } } catch let error as KeychainError where error.code == .vaultDamaged {
            // Which rows count cannot be told before they are accepted; the next look tells of objects that are gone.
            missing = []
        }
        let count = try store.write(keys.tree) { writer in
            let count = try writer.renewRecord(keys.opens)
            for row in missing { try writer.delete(rowID: row.rowID) }
            return count - missing.count
        }
        options.logger.warning("the rows of the vault were accepted as they are", metadata: ["count": "\(count)"])
        return count
    }

    /// Removes the rows that fail their integrity check, and nothing else.
    ///
    /// Nobody can read them any more, and as long as they are there no list is complete. Passwords are lost with them.
    /// A certificate or a key stays on the token; lost is what the vault has noted of it, such as what it is trusted
    /// for. With a plan it is lost how to undo the change: objects of it may be left on the token. The vault keeps no
    /// trace of them: look at ``vaultFindings()`` first, and for a backup.
    ///
    /// - Returns: What was wrong with the items and plans that were removed.
    /// - Throws: `KeychainError`; `vaultBusy`, `vaultUnavailable`, `vaultDamaged` where the record of the rows is
    ///   damaged as well, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func removeDamagedItems() throws -> [VaultFinding] {
        let keys = try keys()
        let removed = try store.write(keys.tree) { writer in
            try writer.deleteRows(keys.damage)
        }
        options.logger.warning("damaged rows of the vault were removed", metadata: ["count": "\(removed.count)"])
        return removed
    }
}

extension VaultKeys {
    /// The finding about a row that does not open; `nil` for one that does, whatever its standing.
    func damage(_ row: SealedRow) -> VaultFinding? {
        guard !opens(row) else { return nil }
        return VaultFinding(
            .itemDamaged, row, itemClass: itemClass(of: row.classDigest), "fails its integrity check")
    }
}
