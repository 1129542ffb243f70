import Foundation
package import KeyfobPrimitives
package import KeyfobOpenSSL
import PKCS11

/// The replacement for the certificate or key of an item.
package enum Replacement: Sendable {
    /// A certificate.
    case certificate(Certificate)
    /// A private key, and whether it is extractable.
    case privateKey(PrivateKey, isExtractable: Bool)
    /// A public key.
    case publicKey(PublicKey)
    /// Bytes that no token holds; they are stored in the vault.
    case secret(SecretBytes)
}

extension VaultRows {
    /// Replaces the certificates, keys or bytes of items, all or none. The items keep their references.
    ///
    /// One transaction links the rows to the new objects, and marks old objects without an item as `removing`. These
    /// are destroyed afterwards; if the process is killed, the next opening destroys them.
    ///
    /// - Parameters:
    ///   - replacements: Items with their replacements; an item that is only in the vault gets bytes.
    ///   - changes: New attribute values for each item.
    ///   - removing: Attributes to remove from each item.
    ///   - mustBeUnchanged: Whether the items must be unchanged since they were read, because the replacements depend
    ///     on them.
    /// - Throws: `KeychainError`; `itemNotFound` if an item is gone, has no row or was changed, `duplicateItem` if a
    ///   new primary key is taken, and the errors of adding an item. Nothing is replaced then.
    @available(*, noasync, message: "call it from a thread of your own")
    package func replace(
        _ replacements: [(item: Item, replacement: Replacement)], changes: ItemAttributes, removing: [AttributeName],
        mustBeUnchanged: Bool = false
    ) throws {
        try keychain.withDeadline { [self] in
            let keys = try keychain.vaultKeys()
            let parts = try replacements.map { try ReplacedItem($0.item, by: $0.replacement, changes, removing) }
            var present: [TokenObject] = []
            try keychain.writer(keys).create { objects in
                present = objects
                return parts.flatMap(\.objects)
            } commit: { writer, added in
                let objects = present + TokenStore.completing(added)
                let versions = try parts.map { part in
                    let object = part.objects.first.flatMap { new in objects.first { new.isSame(as: $0) } }
                    guard part.objects.isEmpty || object != nil else {
                        throw KeychainError(.tokenContractViolation, "the token made an object and does not show it.")
                    }
                    if mustBeUnchanged { try requireUnchanged(part.item, part.identity, writer, keys) }
                    return (try newRow(part, of: object, writer, keys), part.item)
                }
                try replaceRows(versions, ServicesRules(defaults: [:]), writer, keys)
                try markUnclaimed(parts.compactMap(\.item.object), among: present, writer, keys)
            }
            // The replacement is complete. If the token cannot destroy an old object now, the next change tries again.
            try? keychain.writer(keys).recover(until: keychain.deadline)
        }
    }

    /// Replaces items by values that depend on them, all or none. It starts over if another process changed one of
    /// them.
    ///
    /// - Parameter replacements: Reads the items and makes their replacements; may be called several times.
    /// - Throws: `KeychainError`; `vaultBusy` if other processes were faster until the timeout, `duplicateItem` if a
    ///   new primary key is taken, and the errors of adding an item and of `replacements`.
    @available(*, noasync, message: "call it from a thread of your own")
    package func replace(
        changes: ItemAttributes, removing: [AttributeName],
        with replacements: () throws -> [(item: Item, replacement: Replacement)]
    ) throws {
        try retryingIfChanged(replacements) {
            try replace($0, changes: changes, removing: removing, mustBeUnchanged: true)
        }
    }

    /// - Throws: `KeychainError`; `itemNotFound` if the item has changed since it was read.
    private func requireUnchanged(
        _ item: Item, _ identity: Data, _ writer: any StoreWriter, _ keys: VaultKeys
    ) throws {
        // Each version of a row has a later date than the previous one.
        guard let row = try writer.row(identity: identity, withSecret: false),
            try keys.openAttributes(row).1[.modificationDate] == item.stored?[.modificationDate]
        else {
            throw KeychainError(.itemNotFound, "the item was changed or removed by another process in the meantime.")
        }
    }

    /// Whether the item's object equals the replacement.
    package func isHeld(_ replacement: Replacement, by item: Item) -> Bool {
        // A replacement that cannot be made is not on the token.
        guard let object = item.object, let new = try? Self.objects(of: replacement, label: nil).first else {
            return false
        }
        return new.isSame(as: object)
    }

    /// An item and the replacement for its object.
    private struct ReplacedItem {
        let item: Item
        let identity: Data
        let changes: ItemAttributes
        let removing: [AttributeName]
        /// The objects to create, first the one that the item refers to; empty if bytes are stored in the vault.
        let objects: [NewObject]
        let secret: SecretBytes?

        init(
            _ item: Item, by replacement: Replacement, _ changes: ItemAttributes, _ removing: [AttributeName]
        ) throws {
            guard let identity = item.reference?.identity, item.itemClass != .identity else {
                throw KeychainError(.itemNotFound, "the item has no certificate or key that could be replaced.")
            }
            self.item = item
            self.identity = identity
            self.changes = try ClassSchema.of(item.itemClass).coerce(changes)
            self.removing = removing
            objects = try VaultRows.objects(of: replacement, label: self.changes[.label] ?? item.attributes[.label])
            secret = if case .secret(let secret) = replacement { secret } else { nil }
        }
    }

    /// The next version of an item's row, which refers to another object or holds bytes.
    private func newRow(
        _ part: ReplacedItem, of object: TokenObject?, _ writer: any StoreWriter, _ keys: VaultKeys
    ) throws -> SealedRow {
        let item = part.item
        guard let old = try writer.row(identity: part.identity, withSecret: false) else {
            throw KeychainError(.itemNotFound, "the item has no row that could speak of another object.")
        }
        // If the item loses its object, the attributes of the object move to the row.
        let losesObject = object == nil && item.object != nil
        var attributes = losesObject ? item.attributes : try keys.openAttributes(old).1
        let modified = Self.modification(after: attributes)
        attributes.merge(part.changes)
        for name in part.removing { attributes[name] = nil }
        attributes[.modificationDate] = .date(Self.date(modified))
        if object != nil, part.changes[.label] == nil, !part.removing.contains(.label) {
            attributes[.label] = item.attributes[.label]
        }
        var row = try seal(
            attributes, of: item.itemClass, identity: part.identity, version: old.version + 1, created: old.created,
            modified: modified, secret: part.secret, keys)
        row.id = old.id
        if let object { try keychain.tokenItems.sealItem(attributes, of: item.itemClass, object, into: &row, keys) }
        return row
    }

    fileprivate static func objects(of replacement: Replacement, label: AttributeValue?) throws -> [NewObject] {
        let bytes = [UInt8](label?.labelBytes ?? Data())
        switch replacement {
        case .certificate(let certificate): return [NewObject(certificate: certificate, label: label)]
        case .privateKey(let key, let isExtractable):
            let pair = try NewObject.pair(key, label: bytes, subject: nil, isExtractable: isExtractable)
            return [pair.privateKey, pair.publicKey]
        case .publicKey(let key): return [try NewObject(publicKey: key, label: bytes)]
        case .secret: return []
        }
    }

    /// Marks the objects without an item as `removing`, with their public halves.
    private func markUnclaimed(
        _ candidates: [TokenObject], among objects: [TokenObject], _ writer: any StoreWriter, _ keys: VaultKeys
    ) throws {
        func isUnclaimed(_ object: TokenObject) throws -> Bool {
            try keychain.tokenItems.objectRows(object, keys, writer).isEmpty
        }
        var unclaimed: [TokenObject] = []
        for object in candidates where objects.contains(object) && !unclaimed.contains(object) {
            let isHalf = object.objectClass == .publicKey && objects.contains {
                $0.objectClass == .privateKey && $0.keyIdentifier == object.publicKeyHash
            }
            if try !isHalf && isUnclaimed(object) { unclaimed.append(object) }
        }
        unclaimed += try TokenItems.publicHalves(of: unclaimed, objects).filter { try isUnclaimed($0) }
        for object in unclaimed {
            let row = UnfinishedObject(removing: object, rows: [])
            _ = try writer.insert(row.row(keys))
        }
    }
}
