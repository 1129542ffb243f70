import Foundation
import Logging
import KeyfobOpenSSL
import PKCS11

/// Certificates, keys and identities: token objects with the attributes that the vault adds.
extension TokenItems {
    /// The matching items on the token.
    ///
    /// Objects and rows are not read in one step. If a transaction changed rows in between, both are read again. Every
    /// change of the token by Keyfob begins and ends with such a transaction.
    func findOnToken(_ criteria: Criteria) throws -> [Item] {
        guard criteria.limit != 0 else { return [] }
        // A token shows certificates without a login, so listing them needs no PIN.
        let isPublic = criteria.itemClass == .certificate && criteria.services == nil
        guard let keys = isPublic ? try keychain.keysIfUnlocked() : try keychain.vaultKeys() else {
            return try matchingItems(criteria, nil)
        }
        // A damaged record of the rows is reported where a row is read.
        func count() -> UInt64? { try? keychain.store.read(keys.tree) { try $0.changeCount() } }
        for _ in 0..<8 {
            let before = count()
            let found = try matchingItems(criteria, keys)
            if count() == before { return found }
        }
        // Other processes change the keychain faster than it can be read, so exclude those that change the token. The
        // wait is short, because this thread may hold the lock.
        let lock = keychain.writer(keys).lock
        do {
            return try lock.withLock(until: .after(min(keychain.options.timeout, .seconds(1)))) {
                try matchingItems(criteria, keys)
            }
        } catch let error as KeychainError where [.vaultBusy, .timedOut, .refused].contains(error.code) {
            return try matchingItems(criteria, keys)
        }
    }

    /// The matching items, from one read of the objects and rows.
    private func matchingItems(_ criteria: Criteria, _ keys: VaultKeys?) throws -> [Item] {
        var objects = try visibleObjects(keys)
        if keys != nil, criteria.itemClass != .certificate { objects = try recognizing(objects) }
        // Any certificate may be an issuer.
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
        // A reference made while the vault was locked identifies the object itself. A reference to an object without a
        // row stays valid for the row that is made later.
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

    /// The objects of which items are made, without those that a change is creating or destroying.
    private func visibleObjects(_ keys: VaultKeys?) throws -> [TokenObject] {
        guard let keys else { return try publicObjects() }
        let objects = try keychain.index.objects(keys)
        let unfinished = try keychain.store.read(keys.tree) { try $0.unfinishedRows() }.compactMap { row in
            do { return try UnfinishedObject(row, keys) } catch {
                try keychain.vaultRows.passOver(row, error, keys)
                return nil
            }
        }
        return unfinished.isEmpty ? objects : objects.filter { object in !unfinished.contains { $0.matches(object) } }
    }

    /// The objects that are visible without a login, with the public names of their rows. Exact copies count once.
    func publicObjects() throws -> [TokenObject] {
        let names = try keychain.store.read { try $0.publicNames() }
        let hidden = Set(names.filter { $0.name == nil }.map(\.object))
        let known = Dictionary(names.map { ($0.object, $0.name) }) { first, _ in first }
        var seen: Set<Data> = []
        return try keychain.index.objects(nil).compactMap { object in
            guard !hidden.contains(object.fingerprint), seen.insert(object.indexKey).inserted else { return nil }
            var object = object
            object.parsed.name = known[object.fingerprint] ?? nil
            return object
        }
    }

    /// The items of a class: one for each row of an object, or one for an object without a row.
    func items(
        _ itemClass: ItemClass, _ objects: [TokenObject], _ keys: VaultKeys?, hidesPublicHalves: Bool = false,
        where filter: (TokenObject) -> Bool = { _ in true }
    ) throws -> [Item] {
        var owners: WrappingKeyOwners?
        let candidates = objects.filter { $0.itemClass == itemClass && filter($0) && !isWrappingKey($0, &owners) }
        guard !candidates.isEmpty else { return [] }
        let rows = try keys.map { try self.rows(itemClass, of: candidates, $0) } ?? [:]
        // By the rules of Keychain Services, the public half of a private key is part of that key, unless it was stored
        // as an item of its own.
        let owned = !hidesPublicHalves ? []
            : Set(objects.filter { $0.objectClass == .privateKey }.map(\.keyIdentifier))
        let halfNames = try keys.map {
            try namesOfHalves(candidates.filter { rows[$0.fingerprint] == nil }, objects, $0)
        }
        var items: [(order: Int64, item: Item)] = []
        for object in candidates.lazy.map(\.parsingCertificate) {
            let base: ItemAttributes
            // Skip an object of the certificate class that does not hold a certificate.
            do { base = try object.itemAttributes() } catch { continue }
            for recorded in rows[object.fingerprint] ?? [] {
                items.append((recorded.order, item(itemClass, object, base, recorded)))
            }
            guard rows[object.fingerprint] == nil else { continue }
            if object.objectClass == .publicKey, let hash = object.publicKeyHash, owned.contains(hash) { continue }
            var unrecorded = item(itemClass, object, base, nil)
            if let name = halfNames?[object.keyIdentifier] { unrecorded.attributes[.label] = name }
            items.append((.max, unrecorded))
        }
        // Items with rows in the order in which they were added; then the objects of other tools.
        return items.enumerated()
            .sorted { ($0.element.order, $0.offset) < ($1.element.order, $1.offset) }
            .map(\.element.item)
    }

    /// The names of public keys without a row, by key identifier: each has the name of its private key.
    private func namesOfHalves(
        _ candidates: [TokenObject], _ objects: [TokenObject], _ keys: VaultKeys
    ) throws -> [Data: AttributeValue] {
        let halves = Set(candidates.filter { $0.objectClass == .publicKey }.map(\.keyIdentifier))
        guard !halves.isEmpty else { return [:] }
        let privateKeys = objects.filter { $0.objectClass == .privateKey && halves.contains($0.keyIdentifier) }
        guard !privateKeys.isEmpty else { return [:] }
        let rows = try rows(.key, of: privateKeys, keys)
        var names: [Data: AttributeValue] = [:]
        for key in privateKeys { names[key.keyIdentifier] = rows[key.fingerprint]?.first?.attributes[.label] }
        return names
    }

    /// The fingerprints of objects that have an item with the label of the search.
    func fingerprints(ofItemsLabelledLike criteria: Criteria, _ keys: VaultKeys) throws -> Set<Data> {
        guard let label = criteria.attributes[.label] else { return [] }
        // An identity has the name of its certificate.
        let itemClass: ItemClass = criteria.itemClass == .identity ? .certificate : criteria.itemClass
        var labels = [label]
        // For callers that treat labels as text, a numeric label is found by its digits.
        if criteria.services == nil, let number = label.text.flatMap({ Int64($0) }) { labels.append(.number(number)) }
        var fingerprints: Set<Data> = []
        try keychain.store.read(keys.tree) { reader in
            for label in labels {
                try reader.forEachRow(
                    classDigest: keys.digest(of: itemClass), terms: [keys.term(itemClass, .label, label)],
                    withSecrets: false
                ) { row in
                    // A damaged row is reported when its object is read.
                    if let fingerprint = try? keys.openAttributes(row).1[.objectFingerprint]?.bytes {
                        fingerprints.insert(fingerprint)
                    }
                    return true
                }
            }
        }
        return fingerprints
    }

    struct ItemRow {
        let order: Int64
        let identity: Data
        let attributes: ItemAttributes
    }

    /// The vault's rows of some objects, or of a whole class, by the fingerprint of the object.
    func rows(
        _ itemClass: ItemClass, of objects: [TokenObject]? = nil, _ keys: VaultKeys
    ) throws -> [Data: [ItemRow]] {
        var rows: [Data: [ItemRow]] = [:]
        // A few objects are looked up one by one, many in one pass.
        var searches: [[Data]] = [[]]
        if let objects, objects.count <= 16 {
            searches = try Set(objects.map(\.fingerprint)).map {
                [try keys.term(itemClass, .objectFingerprint, .data($0))]
            }
        }
        func take(_ row: SealedRow) -> Bool {
            // A damaged row loses its attributes, but the object on the token is still listed.
            guard let (_, attributes) = try? keys.openAttributes(row) else {
                keychain.options.logger.error(
                    "a row that describes a token object is damaged", metadata: ["row": "\(row.id)"])
                return true
            }
            guard let fingerprint = attributes[.objectFingerprint]?.bytes else { return true }
            rows[fingerprint, default: []].append(
                ItemRow(order: row.id, identity: row.identity, attributes: attributes))
            return true
        }
        try keychain.store.read(keys.tree) { reader in
            for terms in searches {
                try reader.forEachRow(
                    classDigest: keys.digest(of: itemClass), terms: terms, withSecrets: false, take)
            }
        }
        return rows
    }

    /// The items of a token class that have no object: bare attributes, secrets that no token holds, tombstones.
    ///
    /// Damaged rows are skipped.
    private func itemsWithoutObject(_ itemClass: ItemClass, _ keys: VaultKeys) throws -> [Item] {
        var items: [Item] = []
        try keychain.store.read(keys.tree) { reader in
            try reader.forEachRow(
                classDigest: keys.digest(of: itemClass), terms: [keys.termOfRowsWithoutObject(itemClass)],
                withSecrets: false
            ) { row in
                do { items.append(try keychain.vaultRows.item(row, keys)) } catch {
                    try keychain.vaultRows.passOver(row, error, keys)
                }
                return true
            }
        }
        return items
    }

    private func item(
        _ itemClass: ItemClass, _ object: TokenObject, _ base: ItemAttributes, _ recorded: ItemRow?
    ) -> Item {
        var attributes = base
        if let recorded {
            attributes.merge(recorded.attributes)
            // The name of an item is an attribute of its row. The label of the object dates from its creation.
            attributes[.label] = recorded.attributes[.label]
            for name in [AttributeName.objectID, .objectFingerprint] { attributes[name] = nil }
        }
        var item = Item(itemClass, attributes)
        item.stored = attributes
        item.object = object
        item.certificateDER = object.certificateDER
        item.isRecorded = recorded != nil
        item.reference = reference(itemClass, object, identity: recorded?.identity)
        return item
    }

    /// The reference of an object: by its row, or by its fingerprint if it has none.
    func reference(_ itemClass: ItemClass, _ object: TokenObject, identity: Data?) -> PersistentReference {
        PersistentReference(
            itemClass: itemClass, identity: identity ?? derivedIdentity(of: object),
            locator: PersistentReference.Locator(
                serialNumber: keychain.token.uri.serial ?? "", objectID: object.id,
                hint: keychain.token.knownHandle(of: object)))
    }

    /// The identity of an object without a row; a row that is made later uses the same identity.
    func derivedIdentity(of object: TokenObject) -> Data {
        Digest.sha256(Data("keyfob object".utf8) + Data((keychain.token.uri.serial ?? "").utf8) + object.fingerprint)
            .prefix(16)
    }

    /// Whether an object is the wrapping key of a vault, of this keychain or of another one on the token.
    ///
    /// Wrapping keys are not items: listing them would invite users to remove them.
    ///
    /// - Parameter owners: The wrapping keys of the other keychains, read when first needed. Keep it for one search
    ///   only, because other processes create and remove keychains.
    private func isWrappingKey(_ object: TokenObject, _ owners: inout WrappingKeyOwners?) -> Bool {
        guard object.objectClass != .certificate else { return false }
        // An unreadable vault is reported elsewhere.
        let rows = (try? keychain.vaultRows.wrappingKeyRows()) ?? []
        if rows.contains(where: { $0.objectID == object.id }) { return true }
        // Another program may have changed the vault.
        if let id = keychain.configuration.wrappingKeyID, object.id.hexadecimal == id { return true }
        // A token that Keyfob made has one keychain.
        guard keychain.token.softHSM == nil else { return false }
        // An unreadable vault is reported elsewhere.
        let known = owners ?? (try? WrappingKeyOwners(of: keychain)) ?? WrappingKeyOwners()
        owners = known
        return known.keychain(sealedBy: object) != nil
    }

    // MARK: Identities

    /// Joins certificates and private keys by their public key.
    private func identities(
        _ objects: [TokenObject], _ keys: VaultKeys?, _ criteria: Criteria, where mayMatch: (TokenObject) -> Bool
    ) throws -> [Item] {
        let privateKeys = objects.filter { $0.objectClass == .privateKey }
        // Without a public half, the id is used in place of the hash, as every tool that writes keys sets it so.
        let byHash = Dictionary(grouping: privateKeys, by: \.keyIdentifier)
        let certificates = try items(.certificate, objects, keys) { object in
            guard let hash = object.publicKeyHash, byHash[hash] != nil else { return false }
            return mayMatch(object)
        }.filter { criteria.mayHold($0.attributes) }
        let keyItems = Dictionary(grouping: try items(.key, privateKeys, keys)) {
            $0.object?.keyIdentifier
        }
        // Label, protection, issuer, serial number and the like come from the certificate; dates and groups from the
        // key.
        let keyNames = Set(ClassSchema.of(.key).definitions.map(\.name))
        let certificateNames = Set(ClassSchema.of(.certificate).definitions.map(\.name))
            .subtracting(keyNames).union([.label, .tokenID, .isProtectedItem])
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
    /// Whether the caller may see the certificate of an identity: its access group and user are checked besides the
    /// key's.
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

    /// Whether an item of an object can match, without parsing anything.
    ///
    /// - Parameter labelled: The fingerprints of objects that have an item with the searched label, although their own
    ///   label differs.
    func mayMatch(_ object: TokenObject, _ labelled: Set<Data>) -> Bool {
        if let label = attributes[.label], let own = object.nameWithoutRow, own.labelBytes != label.labelBytes,
            !labelled.contains(object.fingerprint)
        {
            return false
        }
        guard object.objectClass == .certificate, let hash = attributes[.publicKeyHash]?.bytes else { return true }
        return object.publicKeyHash == hash
    }
}
