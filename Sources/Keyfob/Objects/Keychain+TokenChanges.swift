import Foundation
import KeyfobPrimitives
import PKCS11

/// Changes to the attributes of items on the token.
extension Keychain {
    /// Changes what the vault says of items on the token, and returns how many items there were.
    ///
    /// The objects stay as they are: the label of an item is an attribute of its row. SoftHSM changes an object by
    /// emptying its file and writing it anew, so that a kill would lose a key whose label is being changed.
    ///
    /// Items are looked for before the lock is taken. Where another process changed or removed one of them meanwhile,
    /// nothing is changed and the search is repeated.
    ///
    /// - Parameter secret: A new secret, for items that are in the vault alone.
    /// - Throws: `KeychainError`; `vaultBusy` where other processes were faster each time.
    func updateOnToken(
        _ criteria: Criteria, changes: ItemAttributes, removing: [AttributeName], secret: SecretBytes? = nil
    ) throws -> Int {
        let deadline = deadline
        var attempt = 0
        while true {
            do {
                return try updateFound(criteria, changes: changes, removing: removing, secret: secret)
            } catch let error as KeychainError where error.code == .itemNotFound {
                attempt += 1
                guard attempt < Self.updateAttempts, !deadline.hasPassed else {
                    throw try findOnToken(criteria).isEmpty ? error : othersWereFaster
                }
                // Random, so that processes that want the same item fall out of step.
                usleep(.random(in: 0...500) << UInt32(min(attempt, 6)))
            }
        }
    }

    /// Not until the deadline: every process would wait for a token that lists an object and does not find it.
    private static let updateAttempts = 8

    /// Changes what matches now.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` where another process was faster.
    private func updateFound(
        _ criteria: Criteria, changes: ItemAttributes, removing: [AttributeName], secret: SecretBytes?
    ) throws -> Int {
        var changes = try ClassSchema.of(criteria.itemClass).coerce(changes)
        if criteria.services == nil { changes = changes.withTextLabel }
        let keys = try keys()
        let found = try findOnToken(criteria)
        guard !found.isEmpty else { return 0 }
        // Keychain Services lets an item say of its object what its owner likes, as it does when it is added.
        let dictated = criteria.services == nil ? Self.dictatedByObject : Self.dictatedAlways
        for name in changes.names + removing where dictated.contains(name) {
            // A caller that reads all attributes of an item and writes them back changes nothing of the object.
            guard found.allSatisfy({ $0.attributes[name] == changes[name] }) else {
                throw KeychainError(
                    .refused, "attribute \"\(name.rawValue)\" belongs to the object itself and cannot be changed.")
            }
            changes[name] = nil
        }
        if let check = criteria.services?.check { for item in found { try check(item) } }
        let items = found.filter { $0.object != nil }
        // An item in the vault alone that another process changed meanwhile may not match any more.
        let bareItems = found.filter { $0.object == nil }
        func bareVersions() throws -> [(row: SealedRow, item: Item)] {
            try bareItems.compactMap { item in
                var own = criteria
                own.reference = item.reference
                let rows = try store.read(keys.tree) { try rowsToChange(own, $0, keys) }
                return try nextVersions(
                    rows, own, changes: changes, removing: removing, secret: secret, keys
                ).first
            }
        }
        guard !items.isEmpty else { return try replacingRows(criteria.services, keys, with: bareVersions) }
        guard secret == nil else {
            throw KeychainError(.refused, "what a token holds of a certificate or key is replaced one by one.")
        }
        let bare = try bareVersions()
        let parts = items.flatMap(Self.parts)
        return try writer(keys).perform(.change) { objects in
            // They were found before the lock was taken, and other tools do not take it.
            guard parts.allSatisfy({ part in objects.contains { $0.isSame(as: part.object) } }) else {
                throw KeychainError(
                    .itemNotFound, "an object was removed or replaced by another program meanwhile.",
                    hint: "Try again.")
            }
            return []
        } change: { _, _, _ in
            TokenWriter.Outcome()
        } commit: { writer, _ in
            for part in parts {
                try updateRow(
                    part.itemClass, part.object, identity: part.identity, changes, removing,
                    isServices: criteria.services != nil, writer, keys)
            }
            try replaceRows(bare, criteria.services, writer, keys)
            return items.count + bare.count
        }
    }

    /// What only the object on the token can say.
    private static let dictatedByObject: Set<AttributeName> = [
        .certificateType, .certificateEncoding, .subject, .issuer, .serialNumber, .subjectKeyID, .publicKeyHash,
        .keyClass,
        .applicationLabel, .type, .keySizeInBits, .effectiveKeySize, .isSensitive, .isExtractable, .wasAlwaysSensitive,
        .wasNeverExtractable,
    ]

    /// What only the token may say: a caller would take it for protection.
    private static let dictatedAlways: Set<AttributeName> = [
        .isSensitive, .isExtractable, .wasAlwaysSensitive, .wasNeverExtractable,
    ]

    /// One object of an item, and the row it has.
    private struct Part {
        let itemClass: ItemClass
        let object: TokenObject
        /// The row's identity; `nil` where the item has no reference.
        let identity: Data?
    }

    /// The objects of an item: the certificate and the key of an identity, else one.
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

    /// The public halves of the private keys among some objects: other tools show the pair under one label.
    static func publicHalves(of targets: [TokenObject], _ objects: [TokenObject]) -> [TokenObject] {
        let pairs = targets.filter { $0.objectClass == .privateKey && (!$0.id.isEmpty || $0.knownPublicKeyInfo != nil) }
        return objects.filter { half in
            // Ids such as 01, and none at all, are shared by keys that have nothing to do with each other.
            half.objectClass == .publicKey && !targets.contains(half)
                && pairs.contains { $0.id == half.id && $0.knownPublicKeyInfo == half.publicKeyInfo }
        }
    }

    /// The rows of an object, without secrets.
    func rows(_ object: TokenObject, _ keys: VaultKeys) throws -> [SealedRow] {
        try store.read(keys.tree) { try rows(object, keys, $0) }
    }

    /// The rows of an object and what they say; a damaged row says nothing.
    func openRows(
        _ object: TokenObject, _ keys: VaultKeys, _ reader: any StoreReader
    ) throws -> [(row: SealedRow, attributes: ItemAttributes)] {
        try rows(object, keys, reader).compactMap { row in
            do { return (row, try keys.openAttributes(row).1) } catch {
                try passOver(row, error, keys)
                return nil
            }
        }
    }

    /// The rows of an object, without secrets, as a transaction sees them.
    func rows(_ object: TokenObject, _ keys: VaultKeys, _ reader: any StoreReader) throws -> [SealedRow] {
        guard let itemClass = object.itemClass else { return [] }
        let term = try keys.term(itemClass, .objectFingerprint, .data(object.fingerprint))
        var rows: [SealedRow] = []
        try reader.forEachRow(classDigest: keys.digest(of: itemClass), terms: [term], withSecrets: false) { row in
            rows.append(row)
            return true
        }
        return rows
    }

    /// Changes what the vault says of an item on the token, and makes a row for it where it has none.
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
        row.modified = Self.modification(after: attributes)
        attributes.merge(own)
        for name in removing { attributes[name] = nil }
        row.version += 1
        attributes[.modificationDate] = .date(Self.date(row.modified))
        try seal(attributes, of: itemClass, object, into: &row, keys)
        if isServices { try makeRoom(for: row, writer, keys) }
        do { try writer.update(row) } catch let error as KeychainError where error.code == .duplicateItem {
            throw duplicate(itemClass, attributes)
        }
    }

    /// The row of an object, where it has one; of several that of `identity`.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` where the object has rows, and not that one: it was removed meanwhile.
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
            // Of a damaged row nothing is known, not even that it is another one.
            _ = try keys.openAttributes(found)
            throw KeychainError(.itemNotFound, "an item was removed by another program meanwhile.", hint: "Try again.")
        }
        return found
    }

    /// Makes a row for an object that another tool made, under the identity that its references already have.
    ///
    /// - Parameter attributes: What the row says; the item has the name in it, or none.
    func adopt(
        _ itemClass: ItemClass, _ object: TokenObject, _ attributes: ItemAttributes, _ writer: any StoreWriter,
        _ keys: VaultKeys
    ) throws {
        var kept = attributes
        let now = Self.now()
        kept[.modificationDate] = .date(Self.date(now))
        var row = SealedRow(
            identity: derivedIdentity(of: object), classDigest: keys.digest(of: itemClass), primaryKey: Data(),
            version: 1, created: now, modified: now,
            attributes: SealedBytes(initializationVector: [], ciphertext: [], tag: []))
        try seal(kept, of: itemClass, object, into: &row, keys)
        _ = try writer.insert(row)
    }
}
