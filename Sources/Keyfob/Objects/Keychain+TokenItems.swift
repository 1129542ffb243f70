import Foundation
import Logging
import OpenSSL
import PKCS11

/// Certificates, keys and identities: objects on the token, with what the vault knows of them besides.
extension Keychain {
    /// The items on the token that match.
    func findOnToken(_ criteria: Criteria) throws -> [Item] {
        guard criteria.limit != 0 else { return [] }
        // Certificates can be seen by everybody; nobody is asked for a PIN to list them.
        let isPublic = criteria.itemClass == .certificate && criteria.services == nil
        let keys = isPublic ? try keysIfUnlocked() : try keys()
        var objects = try visibleObjects(keys, criteria)
        if keys != nil, criteria.itemClass != .certificate { objects = try recognizing(objects) }
        // Every certificate may be an issuer.
        if !criteria.issuers.isEmpty { objects = objects.map(\.parsingCertificate) }
        let labelled = try keys.map { try fingerprints(ofItemsLabelledLike: criteria, $0) } ?? []
        func mayMatch(_ object: TokenObject) -> Bool { criteria.mayMatch(object, labelled) }
        var items: [Item] = switch criteria.itemClass {
        case .identity: try identities(objects, keys, criteria, where: mayMatch)
        default: try items(
            criteria.itemClass, objects, keys, hidesPublicHalves: criteria.services != nil, where: mayMatch)
        }
        if criteria.services != nil, let keys { items += try itemsWithoutObject(criteria.itemClass, keys) }
        if criteria.services == nil {
            for index in items.indices {
                items[index].attributes = items[index].attributes.withTextLabel
                items[index].stored = items[index].stored?.withTextLabel
            }
        }
        // A reference that was made while the vault was locked names the object itself, and one that was made of an
        // object without a row the row that it got.
        let isExact = criteria.reference.map { reference in items.contains { $0.reference == reference } } ?? false
        let filter = CertificateFilter(criteria, authorities: objects.lazy.compactMap(\.parsed.certificate))
        let found = try items.filter { item in
            if let reference = criteria.reference, item.reference != reference {
                guard !isExact, let object = item.certificateObject ?? item.object,
                    reference.itemClass == item.itemClass, reference.identity == derivedIdentity(of: object)
                else { return false }
            }
            guard criteria.matches(item.attributes) else { return false }
            guard let filter else { return true }
            return try item.certificateDER != nil && filter.matches(item.certificate)
        }
        return criteria.arranged(found)
    }

    /// The objects that can be seen; of a change that is under way, as they were before it.
    ///
    /// Objects and plans are not read in one step. Where a change began or ended in between, which the plans and the
    /// stamp of the index tell, both are read again: a name must never be found twice, or not at all, because its
    /// identity is being renewed.
    private func visibleObjects(_ keys: VaultKeys?, _ criteria: Criteria) throws -> [TokenObject] {
        guard let keys else { return try publicObjects() }
        for _ in 0..<3 {
            let (objects, isConsistent) = try objectsBeforeChanges(keys)
            if isConsistent { return objects }
        }
        // Others change the token faster than it can be read: they have to wait for once.
        let lock = writer(keys).lock
        do { return try lock.withLock(until: deadline) { try objectsBeforeChanges(keys).objects } } catch
            let error as KeychainError where [.vaultBusy, .timedOut, .refused].contains(error.code)
        {
            // Who may not lock, or not in time, gets an answer all the same: the one of the last look.
            return try objectsBeforeChanges(keys).objects
        }
    }

    /// The objects that can be seen without a login.
    ///
    /// Plans cannot be read then. That there is one is known, and so that an object may lie there with a copy of it, or
    /// be written in this very moment: who looks twice sees at least one of them, and each is shown once.
    func publicObjects() throws -> [TokenObject] {
        var objects: [TokenObject] = []
        for _ in 0..<3 {
            let before = try changes()
            objects = try index.objects(nil)
            guard try before == changes() else { continue }
            if before.intents.isEmpty { return objects }
            break
        }
        objects += try index.objects(nil)
        var seen: Set<Data> = []
        return objects.filter { seen.insert($0.indexKey).inserted }
    }

    /// One look, and whether no change began or ended during it, nor was in the middle of writing an object.
    private func objectsBeforeChanges(_ keys: VaultKeys) throws -> (objects: [TokenObject], isConsistent: Bool) {
        let before = try changes()
        let objects = try index.objects(keys)
        let after = try changes()
        let plans = plans(after.intents, keys)
        let visible = plans.reduce(objects) { objects, plan in plan.hidden(from: objects) }
        return (visible, before == after && plans.allSatisfy { $0.areSeen(in: objects) })
    }

    /// What tells that a change began or ended.
    private struct Changes: Equatable {
        let intents: [IntentRow]
        let stamp: Data?

        static func == (left: Self, right: Self) -> Bool {
            left.stamp == right.stamp
                && left.intents.elementsEqual(right.intents) { $0.id == $1.id && $0.plan.tag == $1.plan.tag }
        }
    }

    private func changes() throws -> Changes {
        try store.read { Changes(intents: try $0.intents(), stamp: try $0.objectIndexStamp()) }
    }

    /// The items of a class among the objects: one for each row of an object, or one where it has no row.
    func items(
        _ itemClass: ItemClass, _ objects: [TokenObject], _ keys: VaultKeys?, hidesPublicHalves: Bool = false,
        where filter: (TokenObject) -> Bool = { _ in true }
    ) throws -> [Item] {
        var owners: WrappingKeyOwners?
        let candidates = objects.filter { $0.itemClass == itemClass && filter($0) && !isWrappingKey($0, &owners) }
        guard !candidates.isEmpty else { return [] }
        let rows = try keys.map { try self.rows(itemClass, of: candidates, $0) } ?? [:]
        // By the rules of Keychain Services the public half of a private key is part of that key, unless somebody
        // stored it as an item of its own.
        let owned = !hidesPublicHalves ? []
            : Set(objects.filter { $0.objectClass == .privateKey }.map(\.keyIdentifier))
        var items: [(order: Int64, item: Item)] = []
        for object in candidates.lazy.map(\.parsingCertificate) {
            let base: ItemAttributes
            // Something that calls itself a certificate and is none is not an item.
            do { base = try object.itemAttributes() } catch { continue }
            for recorded in rows[object.fingerprint] ?? [] {
                items.append((recorded.order, item(itemClass, object, base, recorded)))
            }
            guard rows[object.fingerprint] == nil else { continue }
            if object.objectClass == .publicKey, let hash = object.publicKeyHash, owned.contains(hash) { continue }
            items.append((.max, item(itemClass, object, base, nil)))
        }
        // Rows in the order they were added; then what other tools made.
        return items.enumerated()
            .sorted { ($0.element.order, $0.offset) < ($1.element.order, $1.offset) }
            .map(\.element.item)
    }

    /// The fingerprints of objects of which an item has a label of its own, and the one that is looked for.
    func fingerprints(ofItemsLabelledLike criteria: Criteria, _ keys: VaultKeys) throws -> Set<Data> {
        guard let label = criteria.attributes[.label] else { return [] }
        // An identity is called as its certificate.
        let itemClass: ItemClass = criteria.itemClass == .identity ? .certificate : criteria.itemClass
        var labels = [label]
        // Who knows labels as text looks for the digits of a number.
        if criteria.services == nil, let number = label.text.flatMap({ Int64($0) }) { labels.append(.number(number)) }
        var fingerprints: Set<Data> = []
        try store.read(keys.tree) { reader in
            for label in labels {
                try reader.forEachRow(
                    classDigest: keys.digest(of: itemClass), terms: [keys.term(itemClass, .label, label)],
                    withSecrets: false
                ) { row in
                    // A damaged row is told of where its object is looked at.
                    if let fingerprint = try? keys.openAttributes(row).1[.objectFingerprint]?.bytes {
                        fingerprints.insert(fingerprint)
                    }
                    return true
                }
            }
        }
        return fingerprints
    }

    struct RecordedItem {
        let order: Int64
        let identity: Data
        let attributes: ItemAttributes
    }

    /// The vault's rows of objects, or of all of a class, by the fingerprint of the object that each belongs to.
    func rows(
        _ itemClass: ItemClass, of objects: [TokenObject]? = nil, _ keys: VaultKeys
    ) throws -> [Data: [RecordedItem]] {
        var rows: [Data: [RecordedItem]] = [:]
        // Few objects are looked up one by one, many by one walk.
        var searches: [[Data]] = [[]]
        if let objects, objects.count <= 16 {
            searches = try Set(objects.map(\.fingerprint)).map {
                [try keys.term(itemClass, .objectFingerprint, .data($0))]
            }
        }
        func take(_ row: SealedRow) -> Bool {
            // A damaged row costs its attributes, not the object on the token.
            guard let (_, attributes) = try? keys.openAttributes(row) else {
                options.logger.error(
                    "a row that describes a token object is damaged", metadata: ["row": "\(row.id)"])
                return true
            }
            guard let fingerprint = attributes[.objectFingerprint]?.bytes else { return true }
            rows[fingerprint, default: []].append(
                RecordedItem(order: row.id, identity: row.identity, attributes: attributes))
            return true
        }
        try store.read(keys.tree) { reader in
            for terms in searches {
                try reader.forEachRow(
                    classDigest: keys.digest(of: itemClass), terms: terms, withSecrets: false, take)
            }
        }
        return rows
    }

    /// The rows of a class that lives on the token which belong to no object: bare attributes, secrets that no token
    /// holds, tombstones. Damaged ones are passed over.
    private func itemsWithoutObject(_ itemClass: ItemClass, _ keys: VaultKeys) throws -> [Item] {
        var items: [Item] = []
        try store.read(keys.tree) { reader in
            try reader.forEachRow(
                classDigest: keys.digest(of: itemClass), terms: [keys.termOfRowsWithoutObject(itemClass)],
                withSecrets: false
            ) { row in
                do { items.append(try item(row, keys)) } catch { try passOver(row, error, keys) }
                return true
            }
        }
        return items
    }

    private func item(
        _ itemClass: ItemClass, _ object: TokenObject, _ base: ItemAttributes, _ recorded: RecordedItem?
    ) -> Item {
        var attributes = base
        if let recorded {
            attributes.merge(recorded.attributes)
            // The token's label is the one that other tools change.
            attributes[.label] = recorded.attributes.label(of: object, base: base[.label])
            for name in [AttributeName.objectID, .objectFingerprint, .hasOwnLabel] { attributes[name] = nil }
        }
        var item = Item(itemClass, attributes)
        item.stored = attributes
        item.object = object
        item.certificateDER = object.certificateDER
        item.isRecorded = recorded != nil
        item.reference = reference(itemClass, object, identity: recorded?.identity)
        return item
    }

    /// The reference of an object: by its row, or by what it is where it has none.
    func reference(_ itemClass: ItemClass, _ object: TokenObject, identity: Data?) -> PersistentReference {
        PersistentReference(
            itemClass: itemClass, identity: identity ?? derivedIdentity(of: object),
            locator: PersistentReference.Locator(
                serialNumber: token.uri.serial ?? "", objectID: object.id, hint: token.knownHandle(of: object)))
    }

    /// The identity of an object that the vault has no row for; a row that is made later takes it over.
    func derivedIdentity(of object: TokenObject) -> Data {
        Digest.sha256(Data("keyfob object".utf8) + Data((token.uri.serial ?? "").utf8) + object.fingerprint).prefix(16)
    }

    /// The key that seals a vault, this one or another keychain's on the token, is nobody's item: listing it would
    /// invite somebody to remove it.
    ///
    /// - Parameter owners: What the other keychains' vaults say, from the first key on that they are asked for. To be
    ///   kept for one search and no longer, since others make and remove keychains.
    private func isWrappingKey(_ object: TokenObject, _ owners: inout WrappingKeyOwners?) -> Bool {
        guard object.objectClass == .secretKey else { return false }
        // A vault that cannot be read says so elsewhere.
        let rows = (try? wrappingKeyRows()) ?? []
        if rows.contains(where: { $0.objectID == object.id }) { return true }
        // A token that Keyfob made has one keychain. On others the name spares most keys the look into the vaults.
        guard token.softHSM == nil, object.label?.text?.hasPrefix("keyfob-wrap-") == true else { return false }
        // As above.
        let known = owners ?? (try? WrappingKeyOwners(of: self)) ?? WrappingKeyOwners()
        owners = known
        return known.keychain(sealedBy: object) != nil
    }

    // MARK: Identities

    /// The join of certificates and private keys by public key.
    private func identities(
        _ objects: [TokenObject], _ keys: VaultKeys?, _ criteria: Criteria, where mayMatch: (TokenObject) -> Bool
    ) throws -> [Item] {
        let privateKeys = objects.filter { $0.objectClass == .privateKey }
        // Without a public half the id stands in for its hash, as every tool that writes keys sets it.
        let byHash = Dictionary(grouping: privateKeys, by: \.keyIdentifier)
        let certificates = try items(.certificate, objects, keys) { object in
            guard let hash = object.publicKeyHash, byHash[hash] != nil else { return false }
            return mayMatch(object)
        }.filter { criteria.mayHold($0.attributes) }
        let keyItems = Dictionary(grouping: try items(.key, privateKeys, keys)) {
            $0.object?.keyIdentifier
        }
        // Label, issuer, serial number and the like are the certificate's; dates and groups the key's.
        let keyNames = Set(ClassSchema.of(.key).definitions.map(\.name))
        let certificateNames = Set(ClassSchema.of(.certificate).definitions.map(\.name))
            .subtracting(keyNames).union([.label, .tokenID])
        return certificates.flatMap { certificate -> [Item] in
            guard let hash = certificate.object?.publicKeyHash else { return [] }
            return (keyItems[hash] ?? []).map { key in
                var item = Item(.identity, key.attributes)
                for (name, value) in certificate.attributes where certificateNames.contains(name) {
                    item.attributes[name] = value
                }
                if certificate.attributes[.label] == nil { item.attributes[.label] = nil }
                item.stored = item.attributes
                item.object = key.object
                item.certificateObject = certificate.object
                item.certificateDER = certificate.certificateDER
                item.isRecorded = key.isRecorded
                item.keyReference = key.reference
                item.reference = certificate.reference?.retagged(.identity)
                return item
            }
        }
    }
}

extension Criteria {
    /// Whether the certificate of an identity may be seen: its access group and user are looked at beside the key's.
    func mayHold(_ certificate: ItemAttributes) -> Bool {
        guard let services else { return true }
        let isAlike = services.isAboutBothHalves
        var criteria = Criteria(.certificate)
        if isAlike { criteria.attributes = attributes.filtered([.accessGroup, .synchronizable]) }
        criteria.accessGroups = accessGroups
        criteria.includesSynchronizable = !isAlike || includesSynchronizable
        criteria.services = services
        return criteria.matches(certificate)
    }

    /// Whether an item of an object can match, told from what is known without parsing anything.
    ///
    /// - Parameter labelled: The fingerprints of objects of which an item has the label, although they do not.
    func mayMatch(_ object: TokenObject, _ labelled: Set<Data>) -> Bool {
        if let label = attributes[.label], let own = object.label, own.bytes != label.labelBytes,
            !labelled.contains(object.fingerprint)
        {
            return false
        }
        guard object.objectClass == .certificate, let hash = attributes[.publicKeyHash]?.bytes else { return true }
        return object.publicKeyHash == hash
    }
}
