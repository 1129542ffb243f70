import PKCS11

/// Items that are removed from the token.
extension Keychain {
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
