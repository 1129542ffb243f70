import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL

/// Changing rows of the vault.
extension VaultRows {
    /// Changes every matching row, all or none, and returns their number.
    ///
    /// - Throws: `KeychainError`; `vaultBusy` if other processes were faster until the timeout, `duplicateItem`, and
    ///   the errors of opening and sealing rows.
    func updateRows(
        _ criteria: Criteria, changes: ItemAttributes, removing: [AttributeName], secret: SecretBytes?
    ) throws -> Int {
        let keys = try keychain.vaultKeys()
        let changes = try ClassSchema.of(criteria.itemClass).coerce(changes)
        return try replacingRows(criteria.services, keys) {
            let found = try keychain.store.read(keys.tree) { try rowsToChange(criteria, $0, keys) }
            return try nextVersions(found, criteria, changes: changes, removing: removing, secret: secret, keys)
        }
    }

    /// Replaces rows by new versions, all or none, and returns their number.
    ///
    /// Token operations run before the vault is locked, so that no other writer waits for a token. If a row has changed
    /// by then, nothing is written and the whole is repeated with the current rows.
    ///
    /// - Parameter nextVersions: Reads the rows and seals their next versions; may be called several times.
    /// - Throws: `KeychainError`; `vaultBusy` if other processes were faster until the timeout, `duplicateItem`, and
    ///   the errors of `nextVersions`.
    func replacingRows(
        _ rules: ServicesRules?, _ keys: VaultKeys, with nextVersions: () throws -> [(row: SealedRow, item: Item)]
    ) throws -> Int {
        try retryingIfChanged(nextVersions) { versions in
            guard !versions.isEmpty else { return 0 }
            try keychain.store.write(keys.tree) { try replaceRows(versions, rules, $0, keys) }
            return versions.count
        }
    }

    /// Reads and writes, and repeats both if another process has changed what was read before it is written.
    ///
    /// - Parameters:
    ///   - read: Reads the items and prepares the change.
    ///   - write: Writes the change, all or none. It throws `itemNotFound` if an item was changed or removed since.
    /// - Returns: The result of `write`.
    /// - Throws: `KeychainError`; `vaultBusy` if other processes were faster until the timeout; errors of the closures.
    func retryingIfChanged<Prepared, Result>(
        _ read: () throws -> Prepared, _ write: (Prepared) throws -> Result
    ) throws -> Result {
        let deadline = keychain.deadline
        var pause: UInt32 = 500
        repeat {
            let prepared = try read()
            do { return try write(prepared) } catch let error as KeychainError where error.code == .itemNotFound {
                // Random, so that competing processes get out of step.
                usleep(.random(in: 0...pause))
                pause = min(pause * 2, 32_000)
            }
        } while !deadline.hasPassed
        throw othersWereFaster
    }

    /// The error for items that other processes kept changing until the timeout.
    var othersWereFaster: KeychainError {
        KeychainError(
            .vaultBusy, "others keep changing the same items of keychain \"\(keychain.name)\"; nothing was changed.",
            hint: "Try again.", details: ["keychain": keychain.name])
    }

    /// The matching rows with their sealed secrets, and their items.
    func rowsToChange(
        _ criteria: Criteria, _ reader: any StoreReader, _ keys: VaultKeys
    ) throws -> [(row: SealedRow, item: Item)] {
        var found: [(row: SealedRow, item: Item)] = []
        try forEachRow(
            criteria, keys, reader: reader, withSecrets: true,
            onDamage: { try passOver($0, $1, criteria.services, keys) }
        ) { row, item in
            try criteria.services?.check?(item)
            found.append((row, item))
            return true
        }
        return found
    }

    /// The rows sealed again with the changes; nothing is written.
    func nextVersions(
        _ found: [(row: SealedRow, item: Item)], _ criteria: Criteria, changes: ItemAttributes,
        removing: [AttributeName], secret: SecretBytes?, _ keys: VaultKeys
    ) throws -> [(row: SealedRow, item: Item)] {
        var changes = changes
        // Keychain Services allows changing the creation date; for Keyfob it is fixed, like the modification date.
        if criteria.services == nil { changes[.creationDate] = nil }
        changes[.modificationDate] = nil
        return try found.compactMap { row, item in
            var item = item
            item.attributes.merge(changes)
            for name in removing where name != .modificationDate { item.attributes[name] = nil }
            do {
                return (try newVersion(of: row, item.itemClass, item.attributes, secret: secret, keys), item)
            } catch let error as KeychainError where error.code == .vaultDamaged && criteria.services != nil {
                report(row, error)
                return nil
            }
        }
    }

    /// Replaces rows by their new versions, all or none.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` if a row is gone or has changed since it was read, `duplicateItem`.
    func replaceRows(
        _ versions: [(row: SealedRow, item: Item)], _ rules: ServicesRules?, _ writer: any StoreWriter,
        _ keys: VaultKeys
    ) throws {
        for (row, item) in versions {
            try writing(row, item, replacesDead: rules != nil, writer, keys) { try writer.update(row) }
        }
    }

    /// The next version of a row, with fresh keys and nonces; both ciphertexts are bound to the new version.
    ///
    /// An unchanged secret is opened and sealed again, because its ciphertext is bound to the old version.
    func newVersion(
        of row: SealedRow, _ itemClass: ItemClass, _ attributes: ItemAttributes, secret: SecretBytes?, _ keys: VaultKeys
    ) throws -> SealedRow {
        var attributes = attributes
        let modified = Self.modification(after: attributes)
        attributes[.modificationDate] = .date(Self.date(modified))
        if attributes[.creationDate] == nil { attributes[.creationDate] = .date(Self.date(row.created)) }
        var secret = secret
        if secret == nil, row.secret != nil { secret = try openSecret(row, itemClass, keys) }
        var next = try seal(
            attributes, of: itemClass, identity: row.identity, version: row.version + 1, created: row.created,
            modified: modified, secret: secret, keys)
        next.id = row.id
        return next
    }
}
