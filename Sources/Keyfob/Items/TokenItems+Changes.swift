import Foundation
import KeyfobPrimitives
import PKCS11

/// Changing the attributes of items on the token.
extension TokenItems {
    /// Changes the vault's attributes of items on the token, and returns the number of items.
    ///
    /// The objects stay unchanged: the label of an item is an attribute of its row. SoftHSM changes an object by
    /// truncating and rewriting its file, so a kill during a label change would lose the key.
    ///
    /// Items are searched before the lock is taken. If another process changed or removed one of them in between,
    /// nothing is changed and the search is repeated.
    ///
    /// - Parameter secret: A new secret, for items that are only in the vault.
    /// - Throws: `KeychainError`; `vaultBusy` if other processes were faster each time.
    func updateOnToken(
        _ criteria: Criteria, changes: ItemAttributes, removing: [AttributeName], secret: SecretBytes? = nil
    ) throws -> Int {
        let deadline = keychain.deadline
        var attempt = 0
        while true {
            do {
                return try updateFound(criteria, changes: changes, removing: removing, secret: secret)
            } catch let error as KeychainError where error.code == .itemNotFound {
                attempt += 1
                guard attempt < Self.updateAttempts, !deadline.hasPassed else {
                    throw try findOnToken(criteria).isEmpty ? error : keychain.vaultRows.othersWereFaster
                }
                // Random, so that competing processes get out of step.
                usleep(.random(in: 0...500) << UInt32(min(attempt, 6)))
            }
        }
    }

    /// Limited, so that a token that lists an object and does not find it is not retried until the deadline.
    private static let updateAttempts = 8

    /// Changes the items that match now.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` if another process was faster.
    private func updateFound(
        _ criteria: Criteria, changes: ItemAttributes, removing: [AttributeName], secret: SecretBytes?
    ) throws -> Int {
        var changes = try ClassSchema.of(criteria.itemClass).coerce(changes)
        if criteria.services == nil { changes = changes.withTextLabel }
        let keys = try keychain.vaultKeys()
        let found = try findOnToken(criteria)
        guard !found.isEmpty else { return 0 }
        // By the rules of Keychain Services, an item may override attributes of its object, as when it is added.
        let dictated = criteria.services == nil ? Self.dictatedByObject : Self.dictatedAlways
        for name in changes.names + removing where dictated.contains(name) {
            // A caller may read all attributes of an item and write them back; that changes no attribute of the object.
            guard found.allSatisfy({ $0.attributes[name] == changes[name] }) else {
                throw KeychainError(
                    .refused, "attribute \"\(name.rawValue)\" belongs to the object itself and cannot be changed.")
            }
            changes[name] = nil
        }
        if let check = criteria.services?.check { for item in found { try check(item) } }
        let items = found.filter { $0.object != nil }
        // An item that is only in the vault may no longer match if another process changed it.
        let bareItems = found.filter { $0.object == nil }
        func bareVersions() throws -> [(row: SealedRow, item: Item)] {
            try bareItems.compactMap { item in
                var own = criteria
                own.reference = item.reference
                let rows = try keychain.store.read(keys.tree) { try keychain.vaultRows.rowsToChange(own, $0, keys) }
                return try keychain.vaultRows.nextVersions(
                    rows, own, changes: changes, removing: removing, secret: secret, keys
                ).first
            }
        }
        guard !items.isEmpty else {
            return try keychain.vaultRows.replacingRows(criteria.services, keys, with: bareVersions)
        }
        guard secret == nil else {
            throw KeychainError(.refused, "what a token holds of a certificate or key is replaced one by one.")
        }
        let bare = try bareVersions()
        let parts = items.flatMap(Self.parts)
        return try keychain.writer(keys).changeRows { objects in
            // Check again: the objects were found before the lock was taken, and other tools do not take it.
            guard parts.allSatisfy({ part in objects.contains { $0.isSame(as: part.object) } }) else {
                throw KeychainError(
                    .itemNotFound, "an object was removed or replaced by another program meanwhile.",
                    hint: "Try again.")
            }
        } commit: { writer in
            for part in parts {
                try updateRow(
                    part.itemClass, part.object, identity: part.identity, changes, removing,
                    isServices: criteria.services != nil, writer, keys)
            }
            try keychain.vaultRows.replaceRows(bare, criteria.services, writer, keys)
            return items.count + bare.count
        }
    }

    /// Attributes that only the object on the token determines.
    private static let dictatedByObject: Set<AttributeName> = [
        .certificateType, .certificateEncoding, .subject, .issuer, .serialNumber, .subjectKeyID, .publicKeyHash,
        .keyClass,
        .applicationLabel, .type, .keySizeInBits, .effectiveKeySize, .isSensitive, .isExtractable, .wasAlwaysSensitive,
        .wasNeverExtractable,
    ]

    /// Attributes that only the token may set, because a caller would rely on them as protection.
    private static let dictatedAlways: Set<AttributeName> = [
        .isSensitive, .isExtractable, .wasAlwaysSensitive, .wasNeverExtractable,
    ]

    /// One object of an item, and its row.
    private struct Part {
        let itemClass: ItemClass
        let object: TokenObject
        /// The identity of the row; `nil` if the item has no reference.
        let identity: Data?
    }

    /// The objects of an item: the certificate and the key of an identity, otherwise one object.
    private static func parts(of item: Item) -> [Part] {
        let isIdentity = item.itemClass == .identity
        let own = item.object.map {
            Part(
                itemClass: isIdentity ? .key : item.itemClass, object: $0,
                identity: (isIdentity ? item.keyReference : item.reference)?.identity)
        }
        let certificate = item.certificateObject.map {
            Part(itemClass: .certificate, object: $0, identity: item.reference?.identity)
        }
        return [own, certificate].compactMap { $0 }
    }

    /// The public halves of the private keys among some objects; other tools show the pair under one label.
    static func publicHalves(of targets: [TokenObject], _ objects: [TokenObject]) -> [TokenObject] {
        let pairs = targets.filter { $0.objectClass == .privateKey && (!$0.id.isEmpty || $0.knownPublicKeyInfo != nil) }
        return objects.filter { half in
            // Unrelated keys may share identifiers such as 01, or have none.
            half.objectClass == .publicKey && !targets.contains(half)
                && pairs.contains { $0.id == half.id && $0.knownPublicKeyInfo == half.publicKeyInfo }
        }
    }

    /// The rows of an object, without secrets.
    func objectRows(_ object: TokenObject, _ keys: VaultKeys) throws -> [SealedRow] {
        try keychain.store.read(keys.tree) { try objectRows(object, keys, $0) }
    }

    /// The rows of an object with their attributes; damaged rows are skipped.
    func openRows(
        _ object: TokenObject, _ keys: VaultKeys, _ reader: any StoreReader
    ) throws -> [(row: SealedRow, attributes: ItemAttributes)] {
        try objectRows(object, keys, reader).compactMap { row in
            do { return (row, try keys.openAttributes(row).1) } catch {
                try keychain.vaultRows.passOver(row, error, keys)
                return nil
            }
        }
    }

    /// The rows of an object, without secrets, as seen by a transaction.
    func objectRows(_ object: TokenObject, _ keys: VaultKeys, _ reader: any StoreReader) throws -> [SealedRow] {
        guard let itemClass = object.itemClass else { return [] }
        let term = try keys.term(itemClass, .objectFingerprint, .data(object.fingerprint))
        var rows: [SealedRow] = []
        try reader.forEachRow(classDigest: keys.digest(of: itemClass), terms: [term], withSecrets: false) { row in
            rows.append(row)
            return true
        }
        return rows
    }

    /// Changes the vault's attributes of an item on the token; creates a row if it has none.
    func updateRow(
        _ itemClass: ItemClass, _ object: TokenObject, identity: Data? = nil, _ changes: ItemAttributes,
        _ removing: [AttributeName], isServices: Bool = false, _ writer: any StoreWriter, _ keys: VaultKeys
    ) throws {
        var own = changes
        let schema = ClassSchema.of(itemClass)
        for name in changes.names where schema[name] == nil { own[name] = nil }
        guard var row = try row(itemClass, of: object, identity: identity, writer, keys) else {
            guard own.count > 0 || removing.contains(.label) else { return }
            if own[.label] == nil, !removing.contains(.label) { own[.label] = object.nameWithoutRow }
            return try adopt(itemClass, object, own, writer, keys)
        }
        var (_, attributes) = try keys.openAttributes(row)
        row.modified = VaultRows.modification(after: attributes)
        attributes.merge(own)
        for name in removing { attributes[name] = nil }
        row.version += 1
        attributes[.modificationDate] = .date(VaultRows.date(row.modified))
        try sealItem(attributes, of: itemClass, object, into: &row, keys)
        if isServices { try keychain.vaultRows.makeRoom(for: row, writer, keys) }
        do { try writer.update(row) } catch let error as KeychainError where error.code == .duplicateItem {
            throw keychain.vaultRows.duplicate(itemClass, attributes)
        }
    }

    /// The row of an object, if any; if there are several, the one with `identity`.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` if the object has rows but not that one, because it was removed in
    ///   between.
    func row(
        _ itemClass: ItemClass, of object: TokenObject, identity: Data? = nil, _ reader: any StoreReader,
        _ keys: VaultKeys
    ) throws -> SealedRow? {
        let term = try keys.term(itemClass, .objectFingerprint, .data(object.fingerprint))
        var found: SealedRow?
        try reader.forEachRow(classDigest: keys.digest(of: itemClass), terms: [term], withSecrets: true) { row in
            found = row
            return identity != nil && row.identity != identity
        }
        if let identity, let found, found.identity != identity {
            // The attributes of a damaged row are unknown; report the damage instead.
            _ = try keys.openAttributes(found)
            throw KeychainError(.itemNotFound, "an item was removed by another program meanwhile.", hint: "Try again.")
        }
        return found
    }

    /// Creates a row for an object of another tool, under the identity that its references already use.
    ///
    /// - Parameter attributes: The attributes of the row; without a label, the item has no name.
    func adopt(
        _ itemClass: ItemClass, _ object: TokenObject, _ attributes: ItemAttributes, _ writer: any StoreWriter,
        _ keys: VaultKeys
    ) throws {
        var kept = attributes
        let now = SealedRow.now()
        kept[.modificationDate] = .date(VaultRows.date(now))
        var row = SealedRow(
            identity: derivedIdentity(of: object), classDigest: keys.digest(of: itemClass), primaryKey: Data(),
            version: 1, created: now, modified: now,
            attributes: SealedBytes(initializationVector: [], ciphertext: [], tag: []))
        try sealItem(kept, of: itemClass, object, into: &row, keys)
        _ = try writer.insert(row)
    }
}
