import Foundation
import OpenSSL
import PKCS11

/// Changes to certificates, keys and identities.
extension Keychain {
    /// Adds certificates to the token, all or none.
    func addCertificates(_ items: [Item]) throws -> [Item] {
        let keys = try keys()
        let prepared = try items.map { item -> (item: Item, object: NewObject) in
            guard let der = item.certificateDER else {
                throw KeychainError(.invalidArgument, "a certificate item needs a certificate.")
            }
            let certificate = try Certificate(der: der)
            var attributes = try ClassSchema.of(.certificate).coerce(item.attributes)
            if attributes[.label] == nil { attributes[.label] = certificate.subjectSummary.map { .string($0) } }
            var item = item
            item.attributes = attributes
            return (item, NewObject(certificate: certificate, label: attributes[.label]))
        }
        for (index, (item, new)) in prepared.enumerated()
        where prepared[..<index].contains(where: { $0.object.fingerprint == new.fingerprint }) {
            throw duplicate(.certificate, item.attributes)
        }
        return try writer(keys).perform(.create) { objects in
            for (item, new) in prepared where objects.contains(where: { new.isSame(as: $0) }) {
                throw duplicate(.certificate, item.attributes)
            }
            return TokenPlan(kind: .create, objects: prepared.map(\.object.planned))
        } change: { session, _ in
            TokenWriter.Outcome(added: try prepared.map { try self.create($0.object, in: session) })
        } commit: { writer, outcome in
            try zip(prepared, outcome.added).map { prepared, object in
                try self.record(prepared.item, object, writer, keys)
            }
        }
    }

    /// Makes an object and reads it back: a token that did not obey is an error, and the object is destroyed.
    func create(_ new: NewObject, in session: borrowing Session) throws -> TokenObject {
        let handle: ObjectHandle
        if let key = new.key {
            handle = try PrivateKeyPlacement(key: key, template: new.template)(in: session)
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
    func record(_ item: Item, _ object: TokenObject, _ writer: any StoreWriter, _ keys: VaultKeys) throws -> Item {
        let base = try object.itemAttributes()
        var complete = base
        complete.merge(item.attributes)
        complete[.label] = object.label ?? base[.label]
        let now = Self.now()
        complete[.creationDate] = .date(Self.date(now))
        complete[.modificationDate] = .date(Self.date(now))
        var kept = ItemAttributes()
        for (name, value) in complete where name != .label && base[name] != value { kept[name] = value }
        kept[.objectID] = .data(object.id)
        kept[.objectFingerprint] = .data(object.fingerprint)
        let identity = Data(try RandomBytes.bytes(count: 16))
        var row = SealedRow(
            identity: identity, classDigest: keys.digest(of: item.itemClass),
            primaryKey: try keys.primaryKey(item.itemClass, complete), version: 1, created: now, modified: now,
            attributes: try keys.sealAttributes(kept, of: item.itemClass, row: identity, version: 1))
        row.terms = [try keys.term(item.itemClass, .objectFingerprint, .data(object.fingerprint))]
        if let old = try writer.row(primaryKey: row.primaryKey) {
            let (_, attributes) = try keys.openAttributes(old)
            // The object was made just now: a row that speaks of one like it speaks of one that is gone.
            let isLeft = try attributes[.objectFingerprint]?.bytes == object.fingerprint || !isOnToken(attributes)
            guard isLeft else { throw duplicate(item.itemClass, complete) }
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

    /// Whether the token has the object that a row belongs to.
    private func isOnToken(_ attributes: ItemAttributes) throws -> Bool {
        let fingerprint = attributes[.objectFingerprint]?.bytes
        return try token.readObjects().objects.contains { $0.fingerprint == fingerprint }
    }

    // MARK: Update

    /// Changes labels on the token and everything else in the vault.
    func updateOnToken(_ criteria: Criteria, changes: ItemAttributes, removing: [AttributeName]) throws -> Int {
        let changes = try ClassSchema.of(criteria.itemClass).coerce(changes)
        for name in changes.names + removing where Self.dictatedByObject.contains(name) {
            throw KeychainError(
                .refused, "attribute \"\(name.rawValue)\" belongs to the object itself and cannot be changed.")
        }
        let keys = try keys()
        let items = try findOnToken(criteria)
        guard !items.isEmpty else { return 0 }
        let label = changes[.label]
        let isRelabelling = label != nil || removing.contains(.label)
        let targets = items.flatMap { [$0.object, $0.certificateObject].compactMap { $0 } }
        var affected: [TokenObject] = []
        return try writer(keys).perform(.change) { objects in
            // They were found before the lock was taken, and other tools do not take it.
            guard targets.allSatisfy({ target in objects.contains { $0.isSame(as: target) } }) else {
                throw KeychainError(
                    .itemNotFound, "an object was removed or replaced by another program meanwhile.",
                    hint: "Try again.")
            }
            guard isRelabelling else { return nil }
            affected = Self.withPublicHalves(targets, objects)
            let newLabel = label?.bytes ?? Data()
            return TokenPlan(kind: .relabel, objects: affected.map { TokenPlan.Object($0, newLabel: newLabel) })
        } change: { session, _ in
            let bytes = [UInt8](label?.bytes ?? Data())
            var outcome = TokenWriter.Outcome()
            for object in affected {
                let handle = try token.verifiedHandle(of: object, in: session)
                try session.setAttributes([.bytes(.label, bytes)], of: handle)
                var after = object
                after.label = label
                outcome.changed.append((object, after))
            }
            return outcome
        } commit: { writer, _ in
            for item in items {
                for (itemClass, object) in Self.halves(of: item) {
                    try updateRow(itemClass, object, changes, removing, writer, keys)
                }
            }
            return items.count
        }
    }

    /// What only the object on the token can say.
    private static let dictatedByObject: Set<AttributeName> = [
        .certificateType, .certificateEncoding, .subject, .issuer, .serialNumber, .subjectKeyID, .publicKeyHash,
        .keyClass,
        .applicationLabel, .type, .keySizeInBits, .effectiveKeySize, .isSensitive, .isExtractable, .wasAlwaysSensitive,
        .wasNeverExtractable,
    ]

    private static func halves(of item: Item) -> [(ItemClass, TokenObject)] {
        var halves: [(ItemClass, TokenObject)] = []
        if let object = item.object { halves.append((item.itemClass == .certificate ? .certificate : .key, object)) }
        if let certificate = item.certificateObject { halves.append((.certificate, certificate)) }
        return halves
    }

    /// The objects, and the public halves of private keys among them: other tools show the pair under one label.
    static func withPublicHalves(_ targets: [TokenObject], _ objects: [TokenObject]) -> [TokenObject] {
        let pairs = targets.filter { $0.objectClass == .privateKey && !$0.id.isEmpty }
        let halves = objects.filter { half in
            // Ids such as 01 are shared by keys that have nothing to do with each other.
            half.objectClass == .publicKey && !targets.contains(half)
                && pairs.contains { $0.id == half.id && $0.publicKeyInfo == half.publicKeyInfo }
        }
        return targets + halves
    }

    func updateRow(
        _ itemClass: ItemClass, _ object: TokenObject, _ changes: ItemAttributes, _ removing: [AttributeName],
        _ writer: any StoreWriter, _ keys: VaultKeys
    ) throws {
        var own = changes
        let schema = ClassSchema.of(itemClass)
        for name in changes.names where schema[name] == nil || name == .label { own[name] = nil }
        guard var row = try row(itemClass, of: object, writer, keys) else {
            guard own.count > 0 else { return }
            try adopt(itemClass, object, own, writer, keys)
            return
        }
        var (_, attributes) = try keys.openAttributes(row)
        attributes.merge(own)
        for name in removing { attributes[name] = nil }
        row.version += 1
        row.modified = max(Self.now(), row.modified + 1)
        attributes[.modificationDate] = .date(Self.date(row.modified))
        row.attributes = try keys.sealAttributes(attributes, of: itemClass, row: row.identity, version: row.version)
        var complete = try object.itemAttributes()
        complete.merge(attributes)
        row.primaryKey = try keys.primaryKey(itemClass, complete)
        row.terms = [try keys.term(itemClass, .objectFingerprint, .data(object.fingerprint))]
        try writer.update(row)
    }

    /// The row of an object, where it has one.
    func row(
        _ itemClass: ItemClass, of object: TokenObject, _ reader: any StoreReader, _ keys: VaultKeys
    ) throws -> SealedRow? {
        let term = try keys.term(itemClass, .objectFingerprint, .data(object.fingerprint))
        var found: SealedRow?
        try reader.forEachRow(classDigest: keys.digest(of: itemClass), terms: [term], withSecrets: true) { row in
            found = row
            return false
        }
        return found
    }

    /// Makes a row for an object that another tool made, under the identity its references already have.
    private func adopt(
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
        row.terms = [try keys.term(itemClass, .objectFingerprint, .data(object.fingerprint))]
        _ = try writer.insert(row)
    }

    // MARK: Delete

    /// Removes objects with their rows; of an identity the certificate, and the key unless another
    /// certificate still needs it.
    func deleteOnToken(_ criteria: Criteria) throws -> Int {
        let keys = try keys()
        let items = try findOnToken(criteria)
        guard !items.isEmpty else { return 0 }
        let term = { (itemClass: ItemClass, object: TokenObject) in
            try keys.term(itemClass, .objectFingerprint, .data(object.fingerprint))
        }
        var doomed: [TokenObject] = []
        var rows: [SealedRow] = []
        var isUntouched = true
        return try writer(keys).perform(.destroy) { objects in
            // What another program has removed or replaced since it was found is not there to be removed.
            doomed = Self.doomed(items, objects).filter { one in objects.contains { $0.isSame(as: one) } }
            guard !doomed.isEmpty else {
                throw KeychainError(.itemNotFound, "the object was removed or replaced by another program meanwhile.")
            }
            try store.read(keys.tree) { reader in
                for object in doomed {
                    guard let itemClass = object.itemClass else { continue }
                    try reader.forEachRow(
                        classDigest: keys.digest(of: itemClass), terms: [term(itemClass, object)], withSecrets: false
                    ) { row in
                        rows.append(row)
                        return true
                    }
                }
            }
            return TokenPlan(kind: .destroy, objects: doomed.map { TokenPlan.Object($0) }, rows: rows.map(\.identity))
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
            for row in rows { try writer.delete(rowID: row.id) }
            return items.count
        }
    }

    private static func doomed(_ items: [Item], _ objects: [TokenObject]) -> [TokenObject] {
        var doomed: [TokenObject] = []
        let certificates = Set(
            items.compactMap { $0.certificateObject ?? ($0.itemClass == .certificate ? $0.object : nil) })
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
        // A private key takes its public half along: alone it is of use to nobody.
        return unique(withPublicHalves(unique(doomed), objects))
    }

    private static func unique(_ objects: [TokenObject]) -> [TokenObject] {
        var seen: Set<TokenObject> = []
        return objects.filter { seen.insert($0).inserted }
    }
}
