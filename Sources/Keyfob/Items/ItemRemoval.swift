import Foundation
import PKCS11

/// The removal of items that have objects on the token.
///
/// The objects to destroy are determined under the lock: those of which no item is left.
struct ItemRemoval {
    private let items: [Item]
    private let criteria: Criteria
    private let keychain: Keychain
    private let keys: VaultKeys
    /// The identities of the rows of the items.
    private let identities: Set<Data>
    /// The objects of the items.
    private var targets: [TokenObject] = []
    /// The objects to destroy.
    private var removedObjects: [TokenObject] = []
    /// The rows to delete.
    private var removedRows: [SealedRow] = []

    /// - Parameter items: The items that `criteria` found; each has an object.
    init(of items: [Item], _ criteria: Criteria, from keychain: Keychain, _ keys: VaultKeys) {
        self.items = items
        self.criteria = criteria
        self.keychain = keychain
        self.keys = keys
        identities = Set(items.flatMap { [$0.reference?.identity, $0.keyReference?.identity].compactMap { $0 } })
    }

    /// Determines the objects to destroy; empty if only rows are deleted.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` if the objects are gone or an item was renamed.
    mutating func prepare(_ objects: [TokenObject]) throws -> [UnfinishedObject] {
        // Skip an object that another program removed or replaced after it was found.
        targets = try targets(among: objects).filter { one in objects.contains { $0.isSame(as: one) } }
        guard try !targets.isEmpty && !isRenamed() else {
            throw KeychainError(.itemNotFound, "the object was removed or replaced by another program meanwhile.")
        }
        for object in targets {
            let rows = try keychain.tokenItems.objectRows(object, keys)
            let leaving = rows.filter { identities.contains($0.identity) }
            // Two copies of an object share their rows.
            removedRows += leaving.filter { row in !removedRows.contains { $0.identity == row.identity } }
            if leaving.count == rows.count { removedObjects.append(object) }
        }
        removedObjects = copies(of: removedObjects, among: objects)
        removedObjects = try withoutNeededHalves(objects)
        removedObjects += try TokenItems.publicHalves(of: removedObjects, objects)
            .filter { try keychain.tokenItems.objectRows($0, keys).isEmpty }
        let rows = removedRows.map(\.identity)
        return removedObjects.map { UnfinishedObject(removing: $0, rows: rows) }
    }

    /// Whether an item that was found by its name has been renamed since.
    private func isRenamed() throws -> Bool {
        guard criteria.attributes[.label] != nil else { return false }
        return try items.contains { item in
            let object = item.certificateObject ?? item.object
            guard let object, let identity = item.reference?.identity else { return false }
            let rows = try keychain.store.read(keys.tree) { try keychain.tokenItems.openRows(object, keys, $0) }
            guard let row = rows.first(where: { $0.row.identity == identity }) else { return false }
            return row.attributes[.label]?.labelBytes != item.attributes[.label]?.labelBytes
        }
    }

    /// Destroys the objects.
    func perform(in session: borrowing Session) throws -> TokenWriter.Outcome {
        // All handles first, so that an object that is missing stops the removal before anything is destroyed.
        var handles: [ObjectHandle] = []
        for object in removedObjects {
            for handle in try keychain.token.handles(ofAll: object, in: session) where !handles.contains(handle) {
                handles.append(handle)
            }
        }
        for handle in handles { try session.destroy(handle) }
        return TokenWriter.Outcome(removed: removedObjects)
    }

    /// Deletes the rows, or turns them into tombstones if Keychain Services requires them.
    func commit(to writer: any StoreWriter) throws {
        for row in removedRows {
            // Each half of an identity has a row of its own.
            if criteria.services?.leavesTombstones == true, let item = try recordedItem(row) {
                try writer.update(keychain.vaultRows.tombstone(of: row, item, keys))
            } else {
                try writer.delete(rowID: row.id)
            }
        }
    }

    /// All copies of the objects on the token.
    ///
    /// An object that another program relabelled counts as the same object.
    private func copies(of targets: [TokenObject], among objects: [TokenObject]) -> [TokenObject] {
        let isKept = Set(targets.filter { one in objects.contains { $0.isCopy(of: one) } })
        return objects.compactMap { object in
            let target = targets.first { isKept.contains($0) ? object.isCopy(of: $0) : object.isSame(as: $0) }
            guard let target else { return nil }
            var copy = object
            copy.parsed = target.parsed
            return copy
        }
    }

    /// The objects to destroy, without public keys whose private half stays.
    private func withoutNeededHalves(_ objects: [TokenObject]) throws -> [TokenObject] {
        let staying = objects.filter { $0.objectClass == .privateKey && !removedObjects.contains($0) }
        return try removedObjects.filter { half in
            guard half.objectClass == .publicKey else { return true }
            let isNeeded = staying.contains { $0.keyIdentifier == half.publicKeyHash }
            return try !isNeeded || criteria.services == nil && keychain.tokenItems.objectRows(half, keys).isEmpty
        }
    }

    /// The item that a row and its object describe together; `nil` for a damaged row.
    private func recordedItem(_ row: SealedRow) throws -> Item? {
        guard let (itemClass, recorded) = try? keys.openAttributes(row),
            let object = targets.first(where: { $0.fingerprint == recorded[.objectFingerprint]?.bytes })
        else { return nil }
        var attributes = try object.itemAttributes()
        attributes.merge(recorded)
        return Item(itemClass, attributes)
    }

    /// The objects of the items.
    ///
    /// For an identity, these are the certificate, and the key unless another certificate needs it.
    private func targets(among objects: [TokenObject]) throws -> [TokenObject] {
        // Certificates of identities that stay because other rows describe them too.
        let remaining = try items.compactMap(\.certificateObject).filter { certificate in
            try keychain.tokenItems.objectRows(certificate, keys).contains { !identities.contains($0.identity) }
        }
        let certificates = Set(
            items.compactMap { $0.certificateObject ?? ($0.itemClass == .certificate ? $0.object : nil) }
        ).subtracting(remaining)
        var found: [TokenObject] = []
        for item in items {
            switch item.itemClass {
            case .identity:
                guard let certificate = item.certificateObject, let key = item.object else { continue }
                found.append(certificate)
                let isNeeded = objects.contains { other in
                    other.objectClass == .certificate && !certificates.contains { other.isCopy(of: $0) }
                        && other.publicKeyHash == certificate.publicKeyHash
                }
                if !isNeeded { found.append(key) }
            default:
                if let object = item.object { found.append(object) }
            }
        }
        var seen: Set<TokenObject> = []
        return found.filter { seen.insert($0).inserted }
    }
}
