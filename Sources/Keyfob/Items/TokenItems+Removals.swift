import PKCS11

/// Removing items from the token.
extension TokenItems {
    /// Removes items: their rows, and an object with its last row.
    ///
    /// The certificate of an identity is removed, and the key unless another certificate needs it. The public half of a
    /// private key is removed with it, unless it is an item of its own. A public key that was stored as an item, or is
    /// removed by the rules of Keychain Services, stays on the token as long as its private half. The private half
    /// cannot be used without it.
    func deleteOnToken(_ criteria: Criteria) throws -> Int {
        let keys = try keychain.vaultKeys()
        let found = try findOnToken(criteria)
        guard !found.isEmpty else { return 0 }
        try keychain.requireUnprotected(found + certificates(of: found))
        let items = found.filter { $0.object != nil }
        let leavesTombstones = criteria.services?.leavesTombstones == true
        let bare = found.filter { $0.object == nil }
        guard !items.isEmpty else {
            return try keychain.store.write(keys.tree) {
                try remove(bare, leavingTombstones: leavesTombstones, $0, keys)
            }
        }
        var removal = ItemRemoval(of: items, criteria, from: keychain, keys)
        return try keychain.writer(keys).perform(.destroy) {
            try removal.prepare($0)
        } change: { session, _, _ in
            try removal.perform(in: session)
        } commit: { writer, _ in
            try removal.commit(to: writer)
            return try items.count + remove(bare, leavingTombstones: leavesTombstones, writer, keys)
        }
    }

    /// The certificates of the private keys among some items: an identity is protected by its certificate.
    private func certificates(of items: [Item]) throws -> [Item] {
        let keys = items.lazy.filter { $0.itemClass == .key }.compactMap(\.object)
        let hashes = Set(keys.filter { $0.objectClass == .privateKey }.map(\.keyIdentifier))
        guard !hashes.isEmpty else { return [] }
        return try findOnToken(Criteria(.certificate)).filter { item in
            item.object?.publicKeyHash.map { hashes.contains($0) } ?? false
        }
    }

    /// Deletes the rows of items, or turns them into tombstones, and returns their number.
    private func remove(
        _ items: [Item], leavingTombstones: Bool, _ writer: any StoreWriter, _ keys: VaultKeys
    ) throws -> Int {
        var count = 0
        for item in items {
            guard let reference = item.reference,
                let row = try writer.row(identity: reference.identity, withSecret: false)
            else { continue }
            if leavingTombstones {
                try writer.update(keychain.vaultRows.tombstone(of: row, item, keys))
            } else {
                try writer.delete(rowID: row.id)
            }
            count += 1
        }
        return count
    }
}
