import Foundation
import KeyfobOpenSSL
import PKCS11

/// Adding certificates to the token, and recording the rows of new objects.
extension TokenItems {
    /// Adds certificates to the token, all or none.
    ///
    /// - Parameter sharesObjects: Whether a certificate that is already on the token may become another item that
    ///   differs in access group or another part of the primary key.
    /// - Throws: `KeychainError`; `duplicateItem`, `tokenFull`, `tokenReadOnly`, and the errors of `unlock()`.
    package func addCertificates(_ items: [Item], sharesObjects: Bool = false) throws -> [Item] {
        try keychain.withDeadline { [self] in
            let keys = try keychain.vaultKeys()
            let prepared = try items.map { item -> (item: Item, object: NewObject) in
                guard let der = item.certificateDER else {
                    throw KeychainError(.invalidArgument, "a certificate item needs a certificate.")
                }
                let certificate = try Certificate(der: der)
                var attributes = try ClassSchema.of(.certificate).coerce(item.attributes)
                if !sharesObjects { attributes = attributes.withTextLabel }
                if attributes[.label] == nil { attributes[.label] = certificate.ownName.map { .string($0) } }
                var item = item
                item.attributes = attributes
                return (item, NewObject(certificate: certificate, label: attributes[.label]))
            }
            for (index, (item, new)) in prepared.enumerated()
            where prepared[..<index].contains(where: { $0.object.fingerprint == new.fingerprint }) {
                throw keychain.vaultRows.duplicate(.certificate, item.attributes)
            }
            var existing: [Data: TokenObject] = [:]
            return try keychain.token.retryingMomentaryFailures {
                try keychain.writer(keys).create { objects in
                    existing = [:]
                    for (item, new) in prepared {
                        let known = objects.first(
                            at: { $0[$1].fingerprint == new.fingerprint && $0[$1].objectClass == .certificate })
                        guard let object = known else { continue }
                        guard sharesObjects else { throw keychain.vaultRows.duplicate(.certificate, item.attributes) }
                        existing[object.fingerprint] = object
                    }
                    return prepared.map(\.object)
                } commit: { writer, added in
                    let made = Dictionary(added.map { ($0.fingerprint, $0) }) { first, _ in first }
                    return try prepared.map { item, new in
                        guard let fingerprint = new.fingerprint, let object = made[fingerprint] ?? existing[fingerprint]
                        else {
                            throw KeychainError(.failed, "the token made another certificate.")
                        }
                        let isNew = made[fingerprint] != nil
                        if !isNew { try keychain.keys.refuseTwin(of: object, item.attributes, writer, keys) }
                        return try recordItem(item, object, writer, keys, isNew: isNew)
                    }
                }
            }
        }
    }

    /// Writes the row of an object and returns the item.
    ///
    /// The row has the item's name and the attributes that the token cannot store. A row with the same primary key is
    /// replaced if another tool has removed its object.
    ///
    /// - Parameter isNew: Whether the object was just created. An existing row with the fingerprint of a new object
    ///   then belongs to an object that is gone.
    func recordItem(
        _ item: Item, _ object: TokenObject, _ writer: any StoreWriter, _ keys: VaultKeys, isNew: Bool = true
    ) throws -> Item {
        let base = try object.itemAttributes()
        var complete = base
        complete.merge(item.attributes)
        // Another item of the same object has an explicit name or none.
        if try !isNew && item.attributes[.label] == nil && !objectRows(object, keys, writer).isEmpty {
            complete[.label] = nil
        }
        let now = SealedRow.now()
        complete[.creationDate] = .date(VaultRows.date(now))
        complete[.modificationDate] = .date(VaultRows.date(now))
        var kept = ItemAttributes()
        for (name, value) in complete where name == .label || base[name] != value { kept[name] = value }
        let identity = Data(try RandomBytes.bytes(count: 16))
        var row = SealedRow(
            identity: identity, classDigest: keys.digest(of: item.itemClass), primaryKey: Data(), version: 1,
            created: now, modified: now,
            attributes: SealedBytes(initializationVector: [], ciphertext: [], tag: []))
        try sealItem(kept, of: item.itemClass, object, into: &row, keys)
        if let old = try writer.row(primaryKey: row.primaryKey) {
            guard try isLeft(old, beside: object, isNew: isNew, keys) else {
                throw keychain.vaultRows.duplicate(item.itemClass, complete)
            }
            try writer.delete(rowID: old.id)
        }
        do { _ = try writer.insert(row) } catch let error as KeychainError where error.code == .duplicateItem {
            throw keychain.vaultRows.duplicate(item.itemClass, complete)
        }
        var recorded = Item(item.itemClass, complete)
        recorded.stored = complete
        recorded.object = object
        recorded.certificateDER = object.certificateDER
        recorded.isRecorded = true
        recorded.reference = reference(item.itemClass, object, identity: identity)
        return recorded
    }

    /// Seals the attributes of an item that has an object, and computes the digests by which the row is found.
    func sealItem(
        _ attributes: ItemAttributes, of itemClass: ItemClass, _ object: TokenObject, into row: inout SealedRow,
        _ keys: VaultKeys
    ) throws {
        var attributes = attributes
        attributes[.objectID] = .data(object.id)
        attributes[.objectFingerprint] = .data(object.fingerprint)
        row.attributes = try keys.sealAttributes(attributes, of: itemClass, row: row.identity, version: row.version)
        var complete = try object.itemAttributes()
        complete.merge(attributes)
        complete[.label] = attributes[.label]
        row.primaryKey = try keys.primaryKey(itemClass, complete)
        row.terms = try keys.terms(itemClass, object: object.fingerprint, attributes)
        guard itemClass == .certificate, !object.flags.contains(.isPrivate) else { return }
        row.publicName = PublicName(object: object.fingerprint, name: attributes[.label]?.text ?? "")
    }

    /// Lists a key that awaited its certificate, and its public half.
    func listKey(_ key: TokenObject, _ writer: any StoreWriter, _ keys: VaultKeys) throws {
        let unfinished = try writer.unfinishedObjects(keys).filter {
            $0.state == .pending && ($0.matches(key) || $0.isHalf(of: key))
        }
        guard !unfinished.isEmpty else { return }
        _ = try recordItem(Item(.key, [:]), key, writer, keys)
        for object in unfinished { try writer.delete(rowID: object.rowID) }
    }

    /// Whether a new item may replace a row with its primary key.
    ///
    /// That is a tombstone, a row that fails its integrity check, or a row whose object is gone.
    private func isLeft(_ row: SealedRow, beside object: TokenObject, isNew: Bool, _ keys: VaultKeys) throws -> Bool {
        if try keychain.vaultRows.isDead(row, keys) { return true }
        let attributes = try keys.openAttributes(row).1
        // A row that never had an object is an item of its own.
        guard let fingerprint = attributes[.objectFingerprint]?.bytes else { return false }
        return try fingerprint == object.fingerprint ? isNew : !isOnToken(attributes)
    }

    /// Whether the token has the object of a row.
    private func isOnToken(_ attributes: ItemAttributes) throws -> Bool {
        let fingerprint = attributes[.objectFingerprint]?.bytes
        return try keychain.token.readObjects().objects.contains { $0.fingerprint == fingerprint }
    }
}
