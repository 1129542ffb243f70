import Foundation
package import KeyfobPrimitives
package import OpenSSL
import PKCS11

/// What takes the place of the certificate or key behind an item.
package enum Replacement: Sendable {
    /// A certificate.
    case certificate(Certificate)
    /// A private key, and whether it may leave the token.
    case privateKey(PrivateKey, isExtractable: Bool)
    /// A public key.
    case publicKey(PublicKey)
    /// Bytes that no token holds: they go to the vault.
    case secret(SecretBytes)
}

extension Keychain {
    /// Puts something else in the place of the certificate or key behind an item, which keeps its reference.
    ///
    /// The new object is made and the row speaks of it, in one step; then the old object goes, if no other item is
    /// one of it. A process that is killed between the two leaves the old object behind as an item without a row.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` where the item is gone or has no row, `duplicateItem` where the new
    ///   primary key is taken, and as adding one.
    @available(*, noasync, message: "call it from a thread of your own")
    package func replace(
        _ item: Item, by replacement: Replacement, changes: ItemAttributes, removing: [AttributeName]
    ) throws {
        guard let identity = item.reference?.identity, let old = item.object, item.itemClass != .identity else {
            throw KeychainError(.itemNotFound, "the item has no certificate or key that could be replaced.")
        }
        let keys = try keys()
        let changes = try ClassSchema.of(item.itemClass).coerce(changes)
        let label = (changes[.label] ?? item.attributes[.label])
        let new = try Self.objects(of: replacement, label: label)
        let secret = if case .secret(let secret) = replacement { secret } else { nil as SecretBytes? }
        var existing: TokenObject?
        var missing: [NewObject] = []
        try writer(keys).perform(.create) { objects in
            existing = objects.first { object in new.first?.isSame(as: object) ?? false }
            missing = new.filter { new in !objects.contains { new.isSame(as: $0) } }
            guard !missing.isEmpty else { return nil }
            return TokenPlan(kind: .create, objects: missing.map(\.planned))
        } change: { session, _ in
            TokenWriter.Outcome(added: try missing.map { try self.create($0, in: session) })
        } commit: { writer, outcome in
            let object = existing ?? TokenStore.completing(outcome.added).first
            guard var row = try writer.row(identity: identity, withSecret: false) else {
                throw KeychainError(.itemNotFound, "the item has no row that could speak of another object.")
            }
            var attributes = object == nil ? item.attributes : try keys.openAttributes(row).1
            attributes.merge(changes)
            for name in removing { attributes[name] = nil }
            let modified = max(Self.now(), row.modified + 1)
            attributes[.modificationDate] = .date(Self.date(modified))
            if let object {
                (attributes[.label], attributes[.objectID]) = (nil, .data(object.id))
                attributes[.objectFingerprint] = .data(object.fingerprint)
            }
            let id = row.id
            row = try seal(
                attributes, of: item.itemClass, identity: identity, version: row.version + 1, created: row.created,
                modified: modified, secret: secret, keys)
            row.id = id
            if let object {
                var complete = try object.itemAttributes()
                complete.merge(attributes)
                row.primaryKey = try keys.primaryKey(item.itemClass, complete)
                row.terms = [try keys.term(item.itemClass, .objectFingerprint, .data(object.fingerprint))]
            }
            try replaceRows([(row, item)], ServicesRules(defaults: [:]), writer, keys)
        }
        try removeUnclaimed(old, keys)
    }

    private static func objects(of replacement: Replacement, label: AttributeValue?) throws -> [NewObject] {
        let bytes = [UInt8](label?.bytes ?? Data())
        switch replacement {
        case .certificate(let certificate): return [NewObject(certificate: certificate, label: label)]
        case .privateKey(let key, let isExtractable):
            let pair = try NewObject.pair(key, label: bytes, subject: nil, isExtractable: isExtractable)
            return [pair.privateKey, pair.publicKey]
        case .publicKey(let key): return [try NewObject(publicKey: key, label: bytes)]
        case .secret: return []
        }
    }

    /// Removes an object of which no item is left, with its public half.
    private func removeUnclaimed(_ object: TokenObject, _ keys: VaultKeys) throws {
        var doomed: [TokenObject] = []
        var isUntouched = true
        try writer(keys).perform(.destroy) { objects in
            guard objects.contains(object), try rows(object, keys).isEmpty else { return nil }
            let isHalf = object.objectClass == .publicKey && objects.contains {
                $0.objectClass == .privateKey && ($0.publicKeyHash ?? $0.id) == object.publicKeyHash
            }
            guard !isHalf else { return nil }
            doomed = try [object] + Self.publicHalves(of: [object], objects).filter { try rows($0, keys).isEmpty }
            return TokenPlan(kind: .destroy, objects: doomed.map { TokenPlan.Object($0) })
        } change: { session, _ in
            for object in doomed {
                try session.destroy(token.verifiedHandle(of: object, in: session))
                isUntouched = false
            }
            return TokenWriter.Outcome(removed: doomed)
        } isUntouched: {
            isUntouched
        } commit: { _, _ in
        }
    }
}
