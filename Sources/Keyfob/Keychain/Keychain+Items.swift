import Foundation
public import KeyfobPrimitives

/// The four verbs, typed and untyped, in blocking form. The asynchronous forms are in `Keychain+Async.swift`.
extension Keychain {
    // MARK: Add

    /// Adds a password.
    ///
    /// - Returns: The stored item, with its reference and dates.
    /// - Throws: `KeychainError`; `duplicateItem` if an item has the same primary key, `dataTooLarge`,
    ///   `noSuchAttribute`, `invalidArgument`, `locked` and the errors of `unlock()`, `vaultBusy`, `vaultUnavailable`.
    ///   Nothing is changed then.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func add<Password: PasswordItem>(_ item: Password, secret: SecretBytes?) throws -> Password {
        try withDeadline { [self] in
            Password(item: try vaultRows.addRow(item.item, secret: secret))
        }
    }

    /// Adds many passwords in one transaction, all or none. This is as durable as adding each, and much faster.
    ///
    /// - Throws: `KeychainError`; `duplicateItem` if an item has the same primary key, `dataTooLarge`,
    ///   `noSuchAttribute`, `invalidArgument`, `locked` and the errors of `unlock()`, `vaultBusy`, `vaultUnavailable`.
    ///   Nothing is changed then.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func add<Password: PasswordItem>(_ items: [(Password, SecretBytes?)]) throws -> [Password] {
        try withDeadline { [self] in
            try vaultRows.addRows(items.map { ($0.0.item, $0.1) }).map { Password(item: $0) }
        }
    }

    /// Adds a certificate to the token.
    ///
    /// - Throws: `KeychainError`; `duplicateItem` if the token has the certificate, `tokenFull`, `tokenReadOnly`,
    ///   `noSuchAttribute`, `invalidArgument`, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func add(_ item: CertificateItem) throws -> CertificateItem {
        try withDeadline { [self] in
            CertificateItem(item: try tokenItems.addCertificates([item.item])[0])
        }
    }

    /// Adds an item of any class but identity and key; the untyped form.
    ///
    /// - Throws: `KeychainError`; the errors of the typed forms; `invalidArgument` for an identity or a key, which are
    ///   imported or generated, and for a certificate with a secret.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func add(_ item: Item, secret: SecretBytes?) throws -> Item {
        try withDeadline { [self] in
            switch item.itemClass {
            case .genericPassword, .internetPassword: return try vaultRows.addRow(item, secret: secret)
            case .certificate:
                guard secret == nil else { throw KeychainError(.invalidArgument, "a certificate has no secret.") }
                return try tokenItems.addCertificates([item])[0]
            case .key, .identity:
                throw KeychainError(
                    .invalidArgument, "keys and identities are imported or generated, not added as attributes.")
            }
        }
    }

    // MARK: Find

    /// The matching items, without their secrets; empty if there are none.
    ///
    /// - Throws: `KeychainError`; `noSuchAttribute` and `invalidArgument` for an invalid query, `vaultDamaged` if a row
    ///   that was read fails its integrity check, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func find<Result: KeychainItem>(_ query: Query<Result>) throws -> [Result] {
        try findItems(query.criteria).map { Result(item: $0) }
    }

    /// The only matching item.
    ///
    /// - Throws: `KeychainError`; `itemNotFound`, `ambiguous` if several items match, and the errors of `find(_:)`.
    @available(*, noasync, message: "use the asynchronous form")
    public func only<Result: KeychainItem>(_ query: Query<Result>) throws -> Result {
        let found = try findItems(query.criteria)
        guard let first = found.first else {
            throw noSuchItem
        }
        guard found.count == 1 else {
            let titles = found.prefix(5).map { $0.attributes.title(of: $0.itemClass) }.joined(separator: ", ")
            throw KeychainError(
                .ambiguous, "the query matches \(found.count) items: \(titles)\(found.count > 5 ? ", …" : "").",
                hint: "Use the full name, an account, or a fingerprint.")
        }
        return Result(item: first)
    }

    /// The item of a reference, of any class.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` if it is gone, `vaultDamaged`, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func item(_ reference: PersistentReference) throws -> Item {
        guard let item = try findItems(Criteria(reference)).first else {
            throw KeychainError(.itemNotFound, "the item of this reference is no longer in keychain \"\(name)\".")
        }
        return item
    }

    /// The matching items; the untyped form.
    ///
    /// - Throws: `KeychainError`; `noSuchAttribute` and `invalidArgument` for an invalid query, `vaultDamaged` if a row
    ///   that was read fails its integrity check, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func findItems(_ criteria: Criteria) throws -> [Item] {
        try withDeadline { [self] in
            let criteria = try criteria.normalized()
            return criteria.itemClass.livesOnToken
                ? try tokenItems.findOnToken(criteria) : try vaultRows.findRows(criteria)
        }
    }

    /// Calls `body` for every matching password, one at a time, until it returns `false`.
    ///
    /// Suitable for lists of any length: at most a few hundred items are in memory at a time. Rows that fail their
    /// integrity check are reported to `damaged`; without it, the first one ends the walk with `vaultDamaged`.
    ///
    /// `body` may search and change the keychain, and read secrets. It sees an item that is changed during the walk
    /// once, in its old or new version.
    ///
    /// - Throws: `KeychainError`; `noSuchAttribute` and `invalidArgument` for an invalid query, `vaultDamaged`, the
    ///   errors of `unlock()`, and those of `body`.
    @available(*, noasync, message: "use the asynchronous form")
    public func forEach<Result: KeychainItem>(
        _ query: Query<Result>, damaged: ((any Error) -> Void)? = nil, _ body: (Result) throws -> Bool
    ) throws {
        let criteria = try query.criteria.normalized()
        guard !criteria.itemClass.livesOnToken, criteria.order == .created else {
            for item in try findItems(criteria) { guard try body(Result(item: item)) else { return } }
            return
        }
        let keys = try withDeadline { try self.vaultKeys() }
        var remaining = criteria.limit ?? .max
        guard remaining > 0 else { return }
        func onDamage(_: SealedRow, _ error: any Error) throws {
            guard let damaged else { throw error }
            damaged(error)
        }
        try vaultRows.walk([criteria], keys, onDamage: onDamage) { _, item in
            remaining -= 1
            return try body(Result(item: item)) && remaining > 0
        }
    }

    /// Calls `body` for every password of the classes, including synchronizable ones, until it returns `false`.
    ///
    /// The passwords come in the order in which they were added, across all classes.
    ///
    /// - Parameter damaged: Called with the error of every row that fails its integrity check.
    /// - Throws: `KeychainError`; the errors of `unlock()`, and those of `body`.
    @available(*, noasync, message: "call it from a thread of your own")
    package func forEachPassword(
        of classes: [ItemClass], damaged: (any Error) -> Void, _ body: (Item) throws -> Bool
    ) throws {
        let criteria = try classes.map { itemClass in
            var all = Criteria(itemClass)
            all.includesSynchronizable = true
            return try all.normalized()
        }
        let keys = try vaultKeys()
        try vaultRows.walk(criteria, keys, onDamage: { _, error in damaged(error) }) { _, item in try body(item) }
    }

    // MARK: Secrets

    /// The secret of an item, or `nil` if it has none. Uses exactly one token operation.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` if the item is gone, `vaultDamaged` if its row fails its integrity
    ///   check, `wrappingKeyMissing`, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func secret(of item: some KeychainItem) throws -> SecretBytes? {
        try secret(of: item.item)
    }

    /// The secret of an item of any class; the untyped form.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` if the item is gone, `vaultDamaged` if its row fails its integrity
    ///   check, `wrappingKeyMissing`, and the errors of `unlock()`.
    public func secret(of item: Item) throws -> SecretBytes? {
        try withDeadline { [self] in
            let (row, itemClass) = try storedRow(of: item)
            return try vaultRows.openSecret(row, itemClass, vaultKeys())
        }
    }

    /// The item's secret as the JWE stored in the vault (RFC 7516), which any JOSE tool can open with the key.
    ///
    /// Uses no token operation.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` if the item is gone or has no secret, `vaultDamaged` if its row fails
    ///   its integrity check, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func jwe(of item: some KeychainItem) throws -> String {
        try withDeadline { [self] in
            let (row, itemClass) = try storedRow(of: item.item)
            guard let secret = row.secret else {
                throw KeychainError(.itemNotFound, "the item has no secret.")
            }
            let additionalData = vaultRows.secretData(of: row, itemClass)
            let intact = try vaultRows.intactRecipients(of: row, additionalData, vaultKeys())
            guard !intact.isEmpty else { throw KeychainError.damagedItem(cause: nil).naming(row, itemClass) }
            let recipients = try intact.map { recipient, key in
                let suite = try WrapSuites.named(key.suite)
                let (header, encryptedKey) = suite.members(of: recipient.encryptedKey)
                return JSONWebEncryption.RecipientMembers(
                    header: [("alg", .string(suite.name)), ("kid", .string(key.keyID))] + header,
                    encryptedKey: encryptedKey)
            }
            return JSONWebEncryption(
                secret: secret, additionalData: additionalData, recipients: recipients
            ).serialized
        }
    }

    private func storedRow(of item: Item) throws -> (SealedRow, ItemClass) {
        let keys = try vaultKeys()
        guard let reference = item.reference,
            let row = try store.read(keys.tree, { try $0.row(identity: reference.identity, withSecret: true) })
        else {
            throw KeychainError(
                .itemNotFound, "\"\(item.attributes.title(of: item.itemClass))\" is not in keychain \"\(name)\".")
        }
        // Open the attributes too: a row whose class or version was edited must not reveal its secret.
        let (itemClass, _) = try keys.openAttributes(row)
        guard itemClass == item.itemClass else { throw KeychainError.damagedItem(cause: nil).naming(row, itemClass) }
        return (row, itemClass)
    }

    // MARK: Update

    /// Changes every matching item, all or none, and returns their number.
    ///
    /// - Parameters:
    ///   - changes: New values; other attributes are unchanged.
    ///   - secret: The new secret; `nil` keeps the old one.
    /// - Throws: `KeychainError`; `itemNotFound` if nothing matches, `duplicateItem` if the new primary key is taken,
    ///   `noSuchAttribute`, `invalidArgument`, and the errors of `unlock()`. Nothing is changed then.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func update<Result: KeychainItem>(
        _ query: Query<Result>, _ changes: ItemAttributes = [:], secret: SecretBytes? = nil
    ) throws -> Int {
        try update(query.criteria, changes, secret: secret)
    }

    /// Changes every matching item; the untyped form.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` if nothing matches, `duplicateItem` if the new primary key is taken,
    ///   `noSuchAttribute`, `invalidArgument`, also for a limit and for a secret of an item that is not a password,
    ///   `vaultBusy` if other processes keep changing the same items, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func update(
        _ criteria: Criteria, _ changes: ItemAttributes, removing: [AttributeName] = [], secret: SecretBytes? = nil
    ) throws -> Int {
        try withDeadline { [self] in
            let criteria = try changing(criteria)
            guard secret == nil || !criteria.itemClass.livesOnToken || criteria.services != nil else {
                throw KeychainError(.invalidArgument, "only passwords have a secret that can be replaced.")
            }
            let count = criteria.itemClass.livesOnToken
                ? try tokenItems.updateOnToken(criteria, changes: changes, removing: removing, secret: secret)
                : try vaultRows.updateRows(criteria, changes: changes, removing: removing, secret: secret)
            guard count > 0 else {
                throw noSuchItem
            }
            return count
        }
    }

    /// Writes an item back through its reference, even if its primary key has changed.
    ///
    /// Only attributes that were changed since the item was read are written; all others keep their current values.
    ///
    /// - Throws: `KeychainError`; `invalidArgument` for an item that was never added, `itemNotFound` if it is gone,
    ///   `duplicateItem` if the new primary key is taken, `noSuchAttribute`, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func write<Result: KeychainItem>(_ item: Result, secret: SecretBytes? = nil) throws -> Result {
        try withDeadline { [self] in
            guard let reference = item.reference else {
                throw KeychainError(
                    .invalidArgument, "an item that was not added cannot be written back.", hint: "Add it first.")
            }
            let stored = try item.item.stored ?? self.item(reference).attributes
            var changes = ItemAttributes()
            for (name, value) in item.attributes where stored[name] != value { changes[name] = value }
            for name: AttributeName in [.creationDate, .modificationDate] { changes[name] = nil }
            let removed = stored.names.filter { item.attributes[$0] == nil }
            try update(Criteria(reference), changes, removing: removed, secret: secret)
            return Result(item: try self.item(reference))
        }
    }

    /// The criteria of a change. A limit is refused, as by Apple, because it would select arbitrary items.
    private func changing(_ criteria: Criteria) throws -> Criteria {
        guard criteria.limit == nil else {
            throw KeychainError(.invalidArgument, "a change cannot be limited to a number of items.")
        }
        return try criteria.normalized()
    }

    // MARK: Delete

    /// Removes every matching item and returns their number.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` if nothing matches, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func delete<Result: KeychainItem>(_ query: Query<Result>) throws -> Int {
        try delete(query.criteria)
    }

    /// Removes one item.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` if it is gone, `invalidArgument` if it was never added, and the errors
    ///   of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func delete(_ item: some KeychainItem) throws {
        guard let reference = item.reference else {
            throw KeychainError(.invalidArgument, "an item that was not added cannot be removed.")
        }
        try delete(Criteria(reference))
    }

    /// Removes one item if it has the same name as when it was found.
    ///
    /// After the user agreed to destroy a version of an identity, it may have been put into use, or the one in use
    /// replaced.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` if it is gone, `refused` if it has another name, and the errors of
    ///   `unlock()`.
    @available(*, noasync, message: "call it from a thread of your own")
    package func deleteUnrenamed(_ item: some KeychainItem) throws {
        guard let reference = item.reference, let label = item.label else { return try delete(item) }
        var criteria = Criteria(reference)
        criteria.attributes[.label] = .string(label)
        do { try delete(criteria) } catch let error as KeychainError where error.code == .itemNotFound {
            guard try !findItems(Criteria(reference)).isEmpty else { throw error }
            throw KeychainError(
                .refused, "\"\(label)\" was given another name meanwhile; it was not removed.",
                remedies: [Remedy("See what there is now", .listIdentities)], details: ["name": label])
        }
    }

    /// Removes every matching item; the untyped form.
    ///
    /// A damaged row can be removed by its reference alone, because it need not be opened.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` if nothing matches, `invalidArgument` for a limit, and the errors of
    ///   `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func delete(_ criteria: Criteria) throws -> Int {
        try withDeadline { [self] in
            let criteria = try changing(criteria)
            let count =
                criteria.itemClass.livesOnToken
                ? try tokenItems.deleteOnToken(criteria) : try vaultRows.deleteRows(criteria)
            guard count > 0 else {
                throw noSuchItem
            }
            return count
        }
    }

    private var noSuchItem: KeychainError {
        KeychainError(
            .itemNotFound, "no such item in keychain \"\(name)\".", remedies: [Remedy("All items", .listItems)])
    }
}
