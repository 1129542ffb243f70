import Foundation
import KeyfobPrimitives
import OpenSSL
import PKCS11

/// Changes to certificates, keys and identities.
extension Keychain {
    /// Adds certificates to the token, all or none.
    ///
    /// - Parameter sharesObjects: Whether a certificate that the token has already may become one more item, which
    ///   differs from the others in access group or another part of the primary key.
    func addCertificates(_ items: [Item], sharesObjects: Bool = false) throws -> [Item] {
        let keys = try keys()
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
            throw duplicate(.certificate, item.attributes)
        }
        var existing: [Data: TokenObject] = [:]
        var missing: [NewObject] = []
        return try token.retryingMomentaryFailures {
            try writer(keys).perform(.create) { objects in
                (existing, missing) = ([:], [])
                for (item, new) in prepared {
                    let known = objects.first(
                        at: { $0[$1].fingerprint == new.fingerprint && $0[$1].objectClass == .certificate })
                    guard let object = known else {
                        missing.append(new)
                        continue
                    }
                    guard sharesObjects else { throw duplicate(.certificate, item.attributes) }
                    existing[object.fingerprint] = object
                }
                guard !missing.isEmpty else { return nil }
                return TokenPlan(kind: .create, objects: missing.map(\.planned))
            } change: { session, _ in
                TokenWriter.Outcome(added: try missing.map { try self.create($0, in: session) })
            } commit: { writer, outcome in
                let made = Dictionary(outcome.added.map { ($0.fingerprint, $0) }) { first, _ in first }
                return try prepared.map { item, new in
                    guard let fingerprint = new.fingerprint, let object = made[fingerprint] ?? existing[fingerprint]
                    else {
                        throw KeychainError(.failed, "the token made another certificate.")
                    }
                    let isNew = made[fingerprint] != nil
                    if !isNew { try refuseTwin(of: object, item.attributes, writer, keys) }
                    return try self.record(item, object, writer, keys, isNew: isNew)
                }
            }
        }
    }

    /// Makes an object and reads it back: a token that did not obey is an error, and the object is destroyed.
    func create(_ new: NewObject, in session: borrowing Session) throws -> TokenObject {
        let handle: ObjectHandle
        if let key = new.key {
            handle = try PrivateKeyPlacement(key: key, template: new.template, token: token.label)(in: session)
        } else {
            handle = try session.create(new.template)
        }
        return try confirm(handle, new.template, in: session)
    }

    /// The object as the token tells it, after the check that it is what was asked for.
    func confirm(
        _ handle: ObjectHandle, _ template: AttributeTemplate, in session: borrowing Session
    ) throws -> TokenObject {
        try Obedience.check(handle, template, in: session, token: token.label)
        guard let object = try token.read(handle, in: session) else {
            throw KeychainError(.tokenDisobeyed, "token \"\(token.label)\" made an object of another class.")
        }
        return object
    }

    /// Writes the row that goes with an object and returns the item.
    ///
    /// The row keeps what the token has no place for; what the token tells is not kept twice. A row whose
    /// object another tool has removed makes room.
    ///
    /// - Parameter isNew: Whether the object was made just now, so that a row which speaks of one like it speaks of
    ///   one that is gone.
    func record(
        _ item: Item, _ object: TokenObject, _ writer: any StoreWriter, _ keys: VaultKeys, isNew: Bool = true
    ) throws -> Item {
        let base = try object.itemAttributes()
        var complete = base
        complete.merge(item.attributes)
        let now = Self.now()
        complete[.creationDate] = .date(Self.date(now))
        complete[.modificationDate] = .date(Self.date(now))
        var kept = ItemAttributes()
        for (name, value) in complete where name != .label && base[name] != value { kept[name] = value }
        let label = item.attributes[.label]
        let isCalledOtherwise = label != nil && label?.labelBytes != object.label?.bytes
        let isOwn = try !isNew && (isCalledOtherwise || !rows(object, keys, writer).isEmpty)
        kept.setLabel(isOwn ? .own(label) : .object(label))
        complete[.label] = kept.label(of: object, base: base[.label])
        kept[.objectID] = .data(object.id)
        kept[.objectFingerprint] = .data(object.fingerprint)
        let identity = Data(try RandomBytes.bytes(count: 16))
        var row = SealedRow(
            identity: identity, classDigest: keys.digest(of: item.itemClass),
            primaryKey: try keys.primaryKey(item.itemClass, complete), version: 1, created: now, modified: now,
            attributes: try keys.sealAttributes(kept, of: item.itemClass, row: identity, version: 1))
        row.terms = try keys.terms(item.itemClass, of: object, kept)
        if let old = try writer.row(primaryKey: row.primaryKey) {
            guard try isLeft(old, beside: object, isNew: isNew, keys) else { throw duplicate(item.itemClass, complete) }
            try writer.delete(rowID: old.id)
        }
        do { _ = try writer.insert(row) } catch let error as KeychainError where error.code == .duplicateItem {
            throw duplicate(item.itemClass, complete)
        }
        var recorded = Item(item.itemClass, complete)
        recorded.stored = complete
        recorded.object = object
        recorded.certificateDER = object.certificateDER
        recorded.isRecorded = true
        recorded.reference = reference(item.itemClass, object, identity: identity)
        return recorded
    }

    /// Whether a row with the primary key of a new item makes room for it: a tombstone, one that fails its integrity
    /// check, or one whose object is gone.
    private func isLeft(_ row: SealedRow, beside object: TokenObject, isNew: Bool, _ keys: VaultKeys) throws -> Bool {
        if try isDead(row, keys) { return true }
        let attributes = try keys.openAttributes(row).1
        // A row that never had an object is an item of its own.
        guard let fingerprint = attributes[.objectFingerprint]?.bytes else { return false }
        return try fingerprint == object.fingerprint ? isNew : !isOnToken(attributes)
    }

    /// Whether the token has the object that a row belongs to.
    private func isOnToken(_ attributes: ItemAttributes) throws -> Bool {
        let fingerprint = attributes[.objectFingerprint]?.bytes
        return try token.readObjects().objects.contains { $0.fingerprint == fingerprint }
    }

    // MARK: Update

    /// Changes labels on the token and everything else in the vault.
    ///
    /// - Parameter secret: A new secret, of items that lie in the vault alone.
    func updateOnToken(
        _ criteria: Criteria, changes: ItemAttributes, removing: [AttributeName], secret: SecretBytes? = nil
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
        let bare = try found.filter { $0.object == nil }.compactMap { item in
            var own = criteria
            own.reference = item.reference
            let found = try store.read(keys.tree) { try rowsToChange(own, $0, keys) }
            return try nextVersions(
                found, own, changes: changes, removing: removing, secret: secret, keys
            ).first
        }
        guard !items.isEmpty else {
            try store.write(keys.tree) { try replaceRows(bare, criteria.services, $0, keys) }
            return bare.count
        }
        guard secret == nil else {
            throw KeychainError(.refused, "what a token holds of a certificate or key is replaced one by one.")
        }
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
        let pairs = targets.filter { $0.objectClass == .privateKey && !$0.id.isEmpty }
        return objects.filter { half in
            // Ids such as 01 are shared by keys that have nothing to do with each other.
            half.objectClass == .publicKey && !targets.contains(half)
                && pairs.contains { $0.id == half.id && $0.publicKeyInfo == half.publicKeyInfo }
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
        attributes.merge(own)
        for name in removing where name != .label { attributes[name] = nil }
        if let label { attributes.setLabel(label) }
        row.version += 1
        row.modified = max(Self.now(), row.modified + 1)
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

    // MARK: Delete

    /// Removes items: their rows, and an object with its last row.
    ///
    /// Of an identity the certificate goes, and the key unless another certificate still needs it. A private key
    /// takes its public half along, unless that is an item of its own. A public key that was stored as an item, or is
    /// removed by the rules of Keychain Services, stays on the token as long as its private half does, which is of no
    /// use without it, and only ceases to be an item.
    func deleteOnToken(_ criteria: Criteria) throws -> Int {
        let keys = try keys()
        let found = try findOnToken(criteria)
        guard !found.isEmpty else { return 0 }
        let items = found.filter { $0.object != nil }
        let leavesTombstones = criteria.services?.leavesTombstones == true
        let bare = found.filter { $0.object == nil }
        guard !items.isEmpty else {
            return try store.write(keys.tree) { try remove(bare, leavingTombstones: leavesTombstones, $0, keys) }
        }
        var doomed: [TokenObject] = []
        var doomedRows: [SealedRow] = []
        var isUntouched = true
        var left: [TokenObject] = []
        var targets: [TokenObject] = []
        let count = try writer(keys).perform(.destroy) { objects in
            let identities = Set(
                items.flatMap { [$0.reference?.identity, $0.keyReference?.identity].compactMap { $0 } })
            let remaining = try items.compactMap(\.certificateObject).filter { certificate in
                try rows(certificate, keys).contains { !identities.contains($0.identity) }
            }
            // What another program has removed or replaced since it was found is not there to be removed.
            targets = Self.doomed(items, objects, remaining: remaining)
                .filter { one in objects.contains { $0.isSame(as: one) } }
            // Under the name that was asked for there may be another one now.
            let isRenamed = criteria.attributes[.label] != nil
                && targets.contains { one in !objects.contains { $0.isSame(as: one) && $0.label == one.label } }
            guard !targets.isEmpty, !isRenamed else {
                throw KeychainError(.itemNotFound, "the object was removed or replaced by another program meanwhile.")
            }
            for object in targets {
                let rows = try rows(object, keys)
                let leaving = rows.filter { identities.contains($0.identity) }
                doomedRows += leaving
                if leaving.count == rows.count { doomed.append(object) } else { left.append(object) }
            }
            let staying = objects.filter { $0.objectClass == .privateKey && !doomed.contains($0) }
            doomed = try doomed.filter { half in
                guard half.objectClass == .publicKey else { return true }
                let isNeeded = staying.contains { ($0.publicKeyHash ?? $0.id) == half.publicKeyHash }
                return try !isNeeded || criteria.services == nil && rows(half, keys).isEmpty
            }
            doomed += try Self.publicHalves(of: doomed, objects).filter { try rows($0, keys).isEmpty }
            guard !doomed.isEmpty else { return nil }
            return TokenPlan(
                kind: .destroy, objects: doomed.map { TokenPlan.Object($0) }, rows: doomedRows.map(\.identity))
        } change: { session, _ in
            // All handles first: what was told to have failed must not be carried out later.
            let handles = try doomed.map { try token.verifiedHandle(of: $0, in: session) }
            for handle in handles {
                try session.destroy(handle)
                isUntouched = false
            }
            return TokenWriter.Outcome(removed: doomed)
        } isUntouched: {
            isUntouched
        } commit: { writer, _ in
            for row in doomedRows {
                // Of an identity each half has a row of its own.
                if leavesTombstones, let item = try recordedItem(row, targets, keys) {
                    try writer.update(tombstone(of: row, item, keys))
                } else {
                    try writer.delete(rowID: row.id)
                }
            }
            return try items.count + remove(bare, leavingTombstones: leavesTombstones, writer, keys)
        }
        // What was to be removed is: that the token would not write a label is no reason to say otherwise.
        try? callAfterItems(left, keys)
        return count
    }

    /// What a row and its object, which is one of `objects`, tell together; `nil` for a damaged row.
    private func recordedItem(_ row: SealedRow, _ objects: [TokenObject], _ keys: VaultKeys) throws -> Item? {
        guard let (itemClass, recorded) = try? keys.openAttributes(row),
            let object = objects.first(where: { $0.fingerprint == recorded[.objectFingerprint]?.bytes })
        else { return nil }
        var attributes = try object.itemAttributes()
        attributes.merge(recorded)
        return Item(itemClass, attributes)
    }

    /// Removes the rows of items, or makes tombstones of them, and returns how many there were.
    private func remove(
        _ items: [Item], leavingTombstones: Bool, _ writer: any StoreWriter, _ keys: VaultKeys
    ) throws -> Int {
        var count = 0
        for item in items {
            guard let reference = item.reference,
                let row = try writer.row(identity: reference.identity, withSecret: false)
            else { continue }
            if leavingTombstones {
                try writer.update(tombstone(of: row, item, keys))
            } else {
                try writer.delete(rowID: row.id)
            }
            count += 1
        }
        return count
    }

    /// The objects behind items that are to be removed.
    ///
    /// - Parameter remaining: Certificates of identities among them that stay, because they are other items too.
    private static func doomed(
        _ items: [Item], _ objects: [TokenObject], remaining: [TokenObject]
    ) -> [TokenObject] {
        var doomed: [TokenObject] = []
        let certificates = Set(
            items.compactMap { $0.certificateObject ?? ($0.itemClass == .certificate ? $0.object : nil) }
        ).subtracting(remaining)
        for item in items {
            switch item.itemClass {
            case .identity:
                guard let certificate = item.certificateObject, let key = item.object else { continue }
                doomed.append(certificate)
                let isNeeded = objects.contains { other in
                    other.objectClass == .certificate && !certificates.contains(other)
                        && other.publicKeyHash == certificate.publicKeyHash
                }
                if !isNeeded { doomed.append(key) }
            default:
                if let object = item.object { doomed.append(object) }
            }
        }
        var seen: Set<TokenObject> = []
        return doomed.filter { seen.insert($0).inserted }
    }
}
