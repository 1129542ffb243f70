import Foundation
import KeyfobPrimitives
import PKCS11

/// Changes to the items on the token, and the rows that tell of them.
extension Keychain {
    /// Changes labels on the token and everything else in the vault, and returns how many items there were.
    ///
    /// Items are looked for before the lock is taken, and some of them have no object that it would keep. Where
    /// somebody changed or removed one of them meanwhile, nothing is changed, and what is there now decides: to say
    /// that there is no such item would be true of the one that was found, and not of what was asked for.
    ///
    /// - Parameter secret: A new secret, of items that lie in the vault alone.
    /// - Throws: `KeychainError`; `vaultBusy` where others were faster each time.
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
                // Chance keeps those who want the same item out of step.
                usleep(.random(in: 0...500) << UInt32(min(attempt, 6)))
            }
        }
    }

    /// Not until the deadline: a token that lists an object and does not find it would have everybody wait for it.
    private static let updateAttempts = 8

    /// Changes what matches now. - Throws: As `updateOnToken`; `itemNotFound` where somebody was faster.
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
            // Who reads all attributes of an item and writes them back changes nothing of its object.
            guard found.allSatisfy({ $0.attributes[name] == changes[name] }) else {
                throw KeychainError(
                    .refused, "attribute \"\(name.rawValue)\" belongs to the object itself and cannot be changed.")
            }
            changes[name] = nil
        }
        if let check = criteria.services?.check { for item in found { try check(item) } }
        let items = found.filter { $0.object != nil }
        // Of items that lie in the vault alone. Whoever changed one meanwhile may have it match no more.
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
        let label = changes[.label]
        let isRelabelling = label != nil || removing.contains(.label)
        var relabelling: LabelChange?
        var affected: [TokenObject] = []
        var planned: [TokenPlan.Object] = []
        return try writer(keys).perform(.change) { objects in
            // They were found before the lock was taken, and other tools do not take it.
            guard parts.allSatisfy({ part in objects.contains { $0.isSame(as: part.object) } }) else {
                throw KeychainError(
                    .itemNotFound, "an object was removed or replaced by another program meanwhile.",
                    hint: "Try again.")
            }
            guard isRelabelling else { return nil }
            let change = try LabelChange(label, of: parts) { object in
                try store.read(keys.tree) { try labelledRows(object, keys, $0) }
                    .map { ($0.row.identity, $0.attributes[.hasOwnLabel] != nil) }
            }
            relabelling = change
            affected = try change.relabelled + Self.publicHalves(of: change.relabelled, objects).filter {
                try rows($0, keys).isEmpty
            }
            guard !affected.isEmpty else { return nil }
            planned = affected.map { TokenPlan.Object($0, newLabel: label?.labelBytes ?? Data(), among: objects) }
            return TokenPlan(kind: .relabel, objects: planned)
        } change: { session, _ in
            try relabel(zip(affected, planned).map { ($0, $1, label?.labelBytes ?? Data()) }, in: session)
        } commit: { writer, _ in
            for part in relabelling?.staying ?? [] { try keepLabel(of: part, writer, keys) }
            for part in parts {
                try updateRow(
                    part.itemClass, part.object, identity: part.identity, changes, removing,
                    label: relabelling?.label(of: part), isServices: criteria.services != nil, writer, keys)
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

    /// What nobody may say but the token: others would take it for protection.
    private static let dictatedAlways: Set<AttributeName> = [
        .isSensitive, .isExtractable, .wasAlwaysSensitive, .wasNeverExtractable,
    ]

    /// The halves of an item. An object may have several rows; of an identity the reference is the certificate's.
    private static func parts(of item: Item) -> [LabelChange.Part] {
        let isIdentity = item.itemClass == .identity
        let own = item.object.map {
            LabelChange.Part(
                itemClass: isIdentity ? .key : item.itemClass, object: $0,
                identity: (isIdentity ? item.keyReference : item.reference)?.identity)
        }
        let certificate = item.certificateObject.map {
            LabelChange.Part(itemClass: .certificate, object: $0, identity: item.reference?.identity)
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

    /// Changes what the vault says of an item on the token, and makes a row of it where it has none.
    ///
    /// - Parameter label: Where its label is from now on; `nil` where it stays.
    func updateRow(
        _ itemClass: ItemClass, _ object: TokenObject, identity: Data? = nil, _ changes: ItemAttributes,
        _ removing: [AttributeName], label: RowLabel? = nil, isServices: Bool = false, _ writer: any StoreWriter,
        _ keys: VaultKeys
    ) throws {
        var own = changes
        let schema = ClassSchema.of(itemClass)
        for name in changes.names where schema[name] == nil || name == .label { own[name] = nil }
        guard var row = try row(itemClass, of: object, identity: identity, writer, keys) else {
            if let label { own.setLabel(label) }
            guard own.count > 0 else { return }
            try adopt(itemClass, object, own, writer, keys)
            return
        }
        var (_, attributes) = try keys.openAttributes(row)
        row.modified = Self.modification(after: attributes)
        attributes.merge(own)
        for name in removing where name != .label { attributes[name] = nil }
        if let label { attributes.setLabel(label) }
        row.version += 1
        attributes[.modificationDate] = .date(Self.date(row.modified))
        row.attributes = try keys.sealAttributes(attributes, of: itemClass, row: row.identity, version: row.version)
        var complete = try object.itemAttributes()
        complete.merge(attributes)
        row.primaryKey = try keys.primaryKey(itemClass, complete)
        row.terms = try keys.terms(itemClass, of: object, attributes)
        if isServices { try makeRoom(for: row, writer, keys) }
        do { try writer.update(row) } catch let error as KeychainError where error.code == .duplicateItem {
            throw duplicate(itemClass, complete)
        }
    }

    /// Has an item keep the label that it had from its object, which gets another.
    private func keepLabel(of part: LabelChange.Part, _ writer: any StoreWriter, _ keys: VaultKeys) throws {
        guard var row = try row(part.itemClass, of: part.object, identity: part.identity, writer, keys) else { return }
        let base = try part.object.itemAttributes()[.label]
        try row.relabel(part.itemClass, of: part.object, keys) { .own($0.label(of: part.object, base: base)) }
        try writer.update(row)
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

    /// Makes a row for an object that another tool made, under the identity its references already have.
    func adopt(
        _ itemClass: ItemClass, _ object: TokenObject, _ attributes: ItemAttributes, _ writer: any StoreWriter,
        _ keys: VaultKeys
    ) throws {
        var kept = attributes
        kept[.objectID] = .data(object.id)
        kept[.objectFingerprint] = .data(object.fingerprint)
        let now = Self.now()
        kept[.modificationDate] = .date(Self.date(now))
        var complete = try object.itemAttributes()
        complete.merge(attributes)
        let identity = derivedIdentity(of: object)
        var row = SealedRow(
            identity: identity, classDigest: keys.digest(of: itemClass),
            primaryKey: try keys.primaryKey(itemClass, complete), version: 1, created: now, modified: now,
            attributes: try keys.sealAttributes(kept, of: itemClass, row: identity, version: 1))
        row.terms = try keys.terms(itemClass, of: object, kept)
        _ = try writer.insert(row)
    }
}
