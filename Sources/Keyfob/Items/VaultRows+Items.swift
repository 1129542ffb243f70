import Foundation
import KeyfobPrimitives
import Logging
import KeyfobOpenSSL

/// Passwords: items that are stored in the vault.
extension VaultRows {
    /// Adds a row.
    ///
    /// - Throws: `KeychainError`; `duplicateItem`, `dataTooLarge`, `noSuchAttribute`, `invalidArgument`, `vaultBusy`,
    ///   and the errors of `unlock()`.
    func addRow(_ item: Item, secret: SecretBytes?) throws -> Item {
        guard let added = try addRows([(item, secret)]).first else {
            throw KeychainError(.failed, "nothing was added.")
        }
        return added
    }

    /// Adds rows in one transaction. Secrets are sealed and keys wrapped before the vault is locked.
    ///
    /// - Parameter replacesDead: Whether tombstones and damaged rows with the same primary key are replaced.
    @discardableResult
    package func addRows(_ items: [(item: Item, secret: SecretBytes?)], replacesDead: Bool = false) throws -> [Item] {
        let keys = try keychain.vaultKeys()
        let prepared = try items.map { item, secret -> (row: SealedRow, item: Item) in
            var attributes = try ClassSchema.of(item.itemClass).coerce(item.attributes)
            let now = SealedRow.now()
            attributes[.creationDate] = .date(Self.date(now))
            attributes[.modificationDate] = .date(Self.date(now))
            let identity = Data(try RandomBytes.bytes(count: 16))
            let row = try seal(
                attributes, of: item.itemClass, identity: identity, version: 1, created: now, modified: now,
                secret: secret, keys)
            var added = Item(item.itemClass, attributes)
            added.stored = attributes
            added.reference = PersistentReference(itemClass: item.itemClass, identity: identity)
            added.hasSecret = secret != nil
            added.isRecorded = true
            return (row, added)
        }
        try keychain.store.write(keys.tree) { writer in
            for (row, item) in prepared {
                try writing(row, item, replacesDead: replacesDead, writer, keys) { _ = try writer.insert(row) }
            }
        }
        return prepared.map(\.item)
    }

    /// Seals one version of a row.
    func seal(
        _ attributes: ItemAttributes, of itemClass: ItemClass, identity: Data, version: Int64, created: Int64,
        modified: Int64, secret: SecretBytes?, _ keys: VaultKeys
    ) throws -> SealedRow {
        var row = SealedRow(
            identity: identity, classDigest: keys.digest(of: itemClass),
            primaryKey: try keys.primaryKey(itemClass, attributes), version: version, created: created,
            modified: modified,
            attributes: try keys.sealAttributes(attributes, of: itemClass, row: identity, version: version),
            terms: try keys.terms(itemClass, attributes))
        if let secret {
            let additionalData = secretData(of: row, itemClass)
            let envelope = try SecretEnvelope(sealing: secret, additionalData)
            row.secret = envelope.sealed
            row.recipients = try recipients(of: envelope.rowKey, additionalData, keys)
        }
        return row
    }

    /// Calls `body` for every matching row, in the order in which the rows were added, until it returns `false`.
    ///
    /// Runs inside the transaction of `reader`. Use `walk(_:_:onDamage:_:)` to call slow code or code of the caller.
    ///
    /// - Parameter onDamage: Called with a row that fails its integrity check and with the error (`vaultDamaged`). It
    ///   throws the error unless the row is to be skipped.
    func forEachRow(
        _ criteria: Criteria, _ keys: VaultKeys, reader: any StoreReader, withSecrets: Bool = false,
        onDamage: (SealedRow, any Error) throws -> Void, _ body: (SealedRow, Item) throws -> Bool
    ) throws {
        if let reference = criteria.reference {
            guard let row = try reader.row(identity: reference.identity, withSecret: withSecrets) else { return }
            _ = try visit(row, [criteria], keys, onDamage: onDamage, body)
            return
        }
        try reader.forEachRow(
            classDigest: keys.digest(of: criteria.itemClass),
            terms: try keys.searchTerms(criteria.itemClass, criteria.attributes), withSecrets: withSecrets
        ) { try visit($0, [criteria], keys, onDamage: onDamage, body) }
    }

    /// Calls `body` for every row of several classes that matches the criteria of its class, until it returns `false`.
    ///
    /// The rows come in the order in which they were added, across all classes. `body` runs outside any transaction, so
    /// it may be slow and change the keychain. It sees a row that changes during the walk once, in its old or new
    /// version. One page of rows is in memory at a time.
    ///
    /// - Parameter onDamage: Called with a row that fails its integrity check and with the error (`vaultDamaged`). It
    ///   throws the error unless the row is to be skipped.
    func walk(
        _ criteria: [Criteria], _ keys: VaultKeys, onDamage: (SealedRow, any Error) throws -> Void,
        _ body: (SealedRow, Item) throws -> Bool
    ) throws {
        let only = criteria.count == 1 ? criteria.first : nil
        let digests = criteria.map { keys.digest(of: $0.itemClass) }
        let terms = try only.map { try keys.searchTerms($0.itemClass, $0.attributes) } ?? []
        var last: Int64 = 0
        // Pages grow, so that a search for one match reads little and a long list needs few transactions.
        var pageSize = 16
        var isComplete = false
        while !isComplete {
            let page = try keychain.store.read(keys.tree) { reader -> [SealedRow] in
                if let reference = only?.reference {
                    return try reader.row(identity: reference.identity, withSecret: false).map { [$0] } ?? []
                }
                var rows: [SealedRow] = []
                try reader.forEachRow(classDigests: digests, terms: terms, withSecrets: false, after: last) {
                    rows.append($0)
                    return rows.count < pageSize
                }
                return rows
            }
            for row in page {
                guard try visit(row, criteria, keys, onDamage: onDamage, body) else { return }
                last = row.id
            }
            isComplete = page.count < pageSize
            pageSize = min(pageSize * 4, 256)
        }
    }

    /// Opens a row and calls `body` if it matches the criteria of its class.
    private func visit(
        _ row: SealedRow, _ criteria: [Criteria], _ keys: VaultKeys,
        onDamage: (SealedRow, any Error) throws -> Void, _ body: (SealedRow, Item) throws -> Bool
    ) throws -> Bool {
        let item: Item
        do { item = try self.item(row, keys) } catch {
            try onDamage(row, error)
            return true
        }
        guard criteria.contains(where: { $0.itemClass == item.itemClass && $0.matches(item.attributes) }) else {
            return true
        }
        return try body(row, item)
    }

    /// The item in a row.
    func item(_ row: SealedRow, _ keys: VaultKeys) throws -> Item {
        let (itemClass, attributes) = try openAttributes(row, keys)
        var item = Item(itemClass, attributes)
        item.stored = attributes
        item.reference = PersistentReference(itemClass: itemClass, identity: row.identity)
        item.hasSecret = row.secret != nil
        item.isRecorded = true
        return item
    }

    /// The attributes of a row; the error for a damaged row says how to remove it.
    private func openAttributes(_ row: SealedRow, _ keys: VaultKeys) throws -> (ItemClass, ItemAttributes) {
        do { return try keys.openAttributes(row) } catch let error as KeychainError
            where error.code == .vaultDamaged && !keys.opens(row)
        {
            throw error.with(remedies: [
                "Restore it from a backup. The other items are not affected.",
                Remedy("See which are damaged", .checkKeychain(keychain.name)),
                Remedy("Without a backup they can be removed", .checkKeychain(keychain.name, .removingDamage)),
            ])
        }
    }

    /// The matching rows, as items.
    ///
    /// - Parameter criteria: Criteria whose attributes `ClassSchema.coerce` has converted already.
    /// - Throws: `KeychainError`; `vaultDamaged`, and the errors of `unlock()`.
    package func findRows(_ criteria: Criteria) throws -> [Item] {
        try keychain.withDeadline { [self] in
            let keys = try keychain.vaultKeys()
            var items: [Item] = []
            // The limit can stop the walk only if the results are in the order of the rows.
            let limit = criteria.order == .created ? criteria.limit : nil
            guard limit != 0 else { return [] }
            try walk([criteria], keys, onDamage: { try passOver($0, $1, criteria.services, keys) }) { _, item in
                items.append(item)
                return items.count != limit
            }
            return criteria.arranged(items)
        }
    }

    /// Skips a damaged row under the rules of Keychain Services.
    ///
    /// - Throws: The given error under Keyfob's own rules, and for a row that opens but is not current.
    func passOver(_ row: SealedRow, _ error: any Error, _ rules: ServicesRules?, _ keys: VaultKeys) throws {
        guard rules != nil else { throw error }
        try passOver(row, error, keys)
    }

    /// Skips a damaged row and logs it.
    ///
    /// - Throws: The given error if the row opens: another program put it there, and it must not be used.
    func passOver(_ row: SealedRow, _ error: any Error, _ keys: VaultKeys) throws {
        guard !keys.opens(row) else { throw error }
        report(row, error)
    }

    /// Logs that a row is skipped.
    func report(_ row: SealedRow, _ error: any Error) {
        keychain.options.logger.error("a damaged row is passed over", metadata: ["row": "\(row.id)"])
    }

    /// Writes a row. If a dead row has its primary key, that row is removed and the write repeated.
    ///
    /// A conflict is rare, so checking first would cost time on every write.
    func writing(
        _ row: SealedRow, _ item: Item, replacesDead: Bool, _ writer: any StoreWriter, _ keys: VaultKeys,
        _ write: () throws -> Void
    ) throws {
        do {
            do { try write() } catch let error as KeychainError where error.code == .duplicateItem && replacesDead {
                guard try makeRoom(for: row, writer, keys) else { throw error }
                try write()
            }
        } catch let error as KeychainError where error.code == .duplicateItem {
            throw duplicate(item.itemClass, item.attributes)
        }
    }

    /// Removes the row that has the primary key of another row, if it is a tombstone or fails its integrity check.
    ///
    /// - Returns: Whether a row was removed.
    @discardableResult
    func makeRoom(for row: SealedRow, _ writer: any StoreWriter, _ keys: VaultKeys) throws -> Bool {
        guard let old = try writer.row(primaryKey: row.primaryKey), old.id != row.id, try isDead(old, keys) else {
            return false
        }
        try writer.delete(rowID: old.id)
        return true
    }

    /// Whether a row no longer holds an item: a tombstone, or a row that fails its integrity check.
    ///
    /// - Throws: The error of a row that opens but is not current.
    func isDead(_ row: SealedRow, _ keys: VaultKeys) throws -> Bool {
        do { return try keys.openAttributes(row).1[.tombstone]?.number ?? 0 != 0 } catch {
            try passOver(row, error, keys)
            return true
        }
    }

    /// Removes every matching row and returns their number.
    func deleteRows(_ criteria: Criteria) throws -> Int {
        let keys = try keychain.vaultKeys()
        return try keychain.store.write(keys.tree) { writer in
            var ids: [Int64] = []
            let isAnything = criteria.attributes.count == 0
            if let reference = criteria.reference, isAnything, criteria.accessGroups == nil, criteria.services == nil {
                // A row that cannot be opened is removed all the same: a damaged row can only be removed this way.
                guard let row = try writer.row(identity: reference.identity, withSecret: false),
                    [nil, criteria.itemClass].contains(keys.itemClass(of: row.classDigest))
                else { return 0 }
                if let attributes = try? keys.openAttributes(row).1, attributes.isProtected {
                    throw keychain.protectionError(attributes)
                }
                try writer.delete(rowID: row.id)
                return 1
            }
            var tombstones: [SealedRow] = []
            var blindKeys: Set<Data>?
            try forEachRow(
                criteria, keys, reader: writer,
                onDamage: { row, error in
                    try passOver(row, error, criteria.services, keys)
                    // The program that stored a damaged row is unknown.
                    guard criteria.services?.program == nil else { return }
                    // A damaged row is identified by its digests alone.
                    guard keys.itemClass(of: row.classDigest) == criteria.itemClass else { return }
                    let primaryKeys = try blindKeys ?? self.primaryKeys(criteria, keys)
                    blindKeys = primaryKeys
                    if isAnything || primaryKeys.contains(row.primaryKey) { ids.append(row.id) }
                }
            ) { row, item in
                try keychain.requireUnprotected([item])
                if criteria.services?.leavesTombstones == true {
                    tombstones.append(try tombstone(of: row, item, keys))
                } else {
                    ids.append(row.id)
                }
                return true
            }
            for id in ids { try writer.delete(rowID: id) }
            for row in tombstones { try writer.update(row) }
            return ids.count + tombstones.count
        }
    }

    /// The primary keys of items with exactly the attributes of a query, one for each access group.
    private func primaryKeys(_ criteria: Criteria, _ keys: VaultKeys) throws -> Set<Data> {
        let groups: [AttributeValue?] = [nil] + (criteria.accessGroups ?? []).map { .string($0) }
        return Set(
            try groups.map { group in
                var attributes = criteria.attributes
                if attributes[.accessGroup] == nil { attributes[.accessGroup] = group }
                if let user = criteria.services?.user, !user.isEmpty { attributes[.multiUser] = .data(user) }
                return try keys.primaryKey(criteria.itemClass, attributes)
            })
    }

    /// The tombstone of a removed item: its primary key, accessibility, program and creation date, without the secret.
    func tombstone(of row: SealedRow, _ item: Item, _ keys: VaultKeys) throws -> SealedRow {
        let names = Set(ClassSchema.of(item.itemClass).primaryKey.map(\.name)).union([
            .accessible, .program, .creationDate,
        ])
        var attributes = item.attributes.filtered(names)
        attributes[.tombstone] = 1
        let modified = Self.modification(after: item.attributes)
        attributes[.modificationDate] = .date(Self.date(modified))
        var next = try seal(
            attributes, of: item.itemClass, identity: row.identity, version: row.version + 1, created: row.created,
            modified: modified, secret: nil, keys)
        next.id = row.id
        return next
    }

    /// The secret of a row that was read with its secret. Uses one token operation.
    func openSecret(_ row: SealedRow, _ itemClass: ItemClass, _ keys: VaultKeys) throws -> SecretBytes? {
        guard let sealed = row.secret else { return nil }
        let additionalData = secretData(of: row, itemClass)
        do {
            return try SecretEnvelope.open(sealed, rowKey: rowKey(of: row, additionalData, keys), additionalData)
        } catch let error as KeychainError where error.code == .vaultDamaged {
            throw error.naming(row, itemClass)
        }
    }

    /// The additional data of a row's secret.
    func secretData(of row: SealedRow, _ itemClass: ItemClass) -> AdditionalData {
        AdditionalData(
            .secret, vault: keychain.store.identity, row: row.identity, itemClass: itemClass, version: row.version)
    }

    /// The error for an item whose primary key is taken.
    func duplicate(_ itemClass: ItemClass, _ attributes: ItemAttributes) -> KeychainError {
        let title = attributes.title(of: itemClass)
        guard itemClass != .certificate else {
            return KeychainError(
                .duplicateItem,
                "a certificate of the same issuer with the same serial number as \"\(title)\" is in keychain "
                    + "\"\(keychain.name)\" already.",
                remedies: [
                    Remedy("See which", .listCertificates), Remedy("Remove it first", .removeCertificate(nil)),
                ],
                details: ["keychain": keychain.name, "name": title, "taken": "issuer_and_serial_number"])
        }
        return KeychainError(
            .duplicateItem, "\"\(title)\" already exists in keychain \"\(keychain.name)\".",
            remedies: [Remedy("Replace it", .change(.replacing)), Remedy("Keep it", .change(.keeping))],
            details: ["keychain": keychain.name, "name": title])
    }

    /// The date of a row's next version, in milliseconds since 1970.
    ///
    /// By Apple's rule it is at least a millisecond after the previous version, regardless of the clock. The previous
    /// date is the sealed one, because anyone who can write the file can change the unsealed one. A date out of range
    /// is ignored.
    ///
    /// - Parameter attributes: The attributes of the row.
    static func modification(after attributes: ItemAttributes) -> Int64 {
        let now = SealedRow.now()
        guard let date = attributes[.modificationDate]?.date else { return now }
        let former = (date.timeIntervalSince1970 * 1000).rounded()
        // The last second of the year 9999. NaN fails both comparisons.
        guard former >= Double(now), former < 253_402_300_799_000 else { return now }
        return Int64(former) + 1
    }

    static func date(_ milliseconds: Int64) -> Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
