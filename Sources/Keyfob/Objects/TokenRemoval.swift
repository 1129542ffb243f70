import Foundation
import PKCS11

/// A removal of items that have objects on the token. Which of the objects go is found out under the lock.
struct TokenRemoval {
    private let items: [Item]
    private let criteria: Criteria
    private let keychain: Keychain
    private let keys: VaultKeys
    /// The identities of the items' rows.
    private let identities: Set<Data>
    /// The objects behind the items.
    private var targets: [TokenObject] = []
    /// The objects that go.
    private var doomed: [TokenObject] = []
    /// The rows that go.
    private var doomedRows: [SealedRow] = []
    /// The objects that stay, for other rows speak of them.
    private(set) var left: [TokenObject] = []
    /// Whether nothing was destroyed so far.
    private(set) var isUntouched = true

    /// - Parameter items: What `criteria` found; each has an object.
    init(of items: [Item], _ criteria: Criteria, from keychain: Keychain, _ keys: VaultKeys) {
        self.items = items
        self.criteria = criteria
        self.keychain = keychain
        self.keys = keys
        identities = Set(items.flatMap { [$0.reference?.identity, $0.keyReference?.identity].compactMap { $0 } })
    }

    /// Says what goes of the token; `nil` where only rows do.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` for objects that are gone.
    mutating func plan(_ objects: [TokenObject]) throws -> TokenPlan? {
        // What another program has removed or replaced since it was found is not there to be removed.
        targets = try targets(among: objects).filter { one in objects.contains { $0.isSame(as: one) } }
        // Under the name that was asked for there may be another one now.
        let isRenamed = criteria.attributes[.label] != nil
            && targets.contains { one in !objects.contains { $0.isSame(as: one) && $0.label == one.label } }
        guard !targets.isEmpty, !isRenamed else {
            throw KeychainError(.itemNotFound, "the object was removed or replaced by another program meanwhile.")
        }
        for object in targets {
            let rows = try keychain.rows(object, keys)
            let leaving = rows.filter { identities.contains($0.identity) }
            // Two copies of an object have the same rows.
            doomedRows += leaving.filter { row in !doomedRows.contains { $0.identity == row.identity } }
            if leaving.count == rows.count { doomed.append(object) } else { left.append(object) }
        }
        doomed = copies(of: doomed, among: objects)
        doomed = try withoutNeededHalves(objects)
        doomed += try Keychain.publicHalves(of: doomed, objects).filter { try keychain.rows($0, keys).isEmpty }
        guard !doomed.isEmpty else { return nil }
        return TokenPlan(
            kind: .destroy, objects: doomed.map { TokenPlan.Object($0) }, rows: doomedRows.map(\.identity))
    }

    /// Destroys the objects.
    mutating func perform(in session: borrowing Session) throws -> TokenWriter.Outcome {
        // All handles first: what was told to have failed must not be carried out later.
        var handles: [ObjectHandle] = []
        for object in doomed {
            for handle in try keychain.token.handles(ofAll: object, in: session) where !handles.contains(handle) {
                handles.append(handle)
            }
        }
        for handle in handles {
            try session.destroy(handle)
            isUntouched = false
        }
        return TokenWriter.Outcome(removed: doomed)
    }

    /// Removes the rows, or makes tombstones of them where Keychain Services ask for it.
    func commit(to writer: any StoreWriter) throws {
        for row in doomedRows {
            // Of an identity each half has a row of its own.
            if criteria.services?.leavesTombstones == true, let item = try recordedItem(row) {
                try writer.update(keychain.tombstone(of: row, item, keys))
            } else {
                try writer.delete(rowID: row.id)
            }
        }
    }

    /// What is on the token of some objects, each as often as it is there. One that another program has given another
    /// label meanwhile goes under that.
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

    /// The objects that go, without public keys whose private half stays.
    private func withoutNeededHalves(_ objects: [TokenObject]) throws -> [TokenObject] {
        let staying = objects.filter { $0.objectClass == .privateKey && !doomed.contains($0) }
        return try doomed.filter { half in
            guard half.objectClass == .publicKey else { return true }
            let isNeeded = staying.contains { $0.keyIdentifier == half.publicKeyHash }
            return try !isNeeded || criteria.services == nil && keychain.rows(half, keys).isEmpty
        }
    }

    /// What a row and its object tell together; `nil` for a damaged row.
    private func recordedItem(_ row: SealedRow) throws -> Item? {
        guard let (itemClass, recorded) = try? keys.openAttributes(row),
            let object = targets.first(where: { $0.fingerprint == recorded[.objectFingerprint]?.bytes })
        else { return nil }
        var attributes = try object.itemAttributes()
        attributes.merge(recorded)
        return Item(itemClass, attributes)
    }

    /// The objects behind the items: of an identity the certificate, and the key unless another certificate needs it.
    private func targets(among objects: [TokenObject]) throws -> [TokenObject] {
        // Certificates of identities that stay, because they are other items too.
        let remaining = try items.compactMap(\.certificateObject).filter { certificate in
            try keychain.rows(certificate, keys).contains { !identities.contains($0.identity) }
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
