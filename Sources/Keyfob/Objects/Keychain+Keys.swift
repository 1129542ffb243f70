import Foundation
package import OpenSSL
import PKCS11

/// Keys that were in memory, stored with any attributes of the class.
///
/// One key may be several items, which differ in tag, access group or another part of the primary key: the object on
/// the token is made with the first and goes with the last.
extension Keychain {
    /// Stores a private key; its public half comes along, and is no item of its own.
    ///
    /// - Parameters:
    ///   - attributes: What the class has; what only the token can say of a key is passed over.
    ///   - existing: What the key must be where the token has it already.
    /// - Throws: `KeychainError`; `duplicateItem`, also where the token has the key as one that may leave and it must
    ///   not; `keyNotExtractable` where it is the other way round; `unsupportedFormat` for a kind that tokens do not
    ///   hold, `tokenDisobeyed`, `tokenFull`, and the errors of `unlock()`.
    @available(*, noasync, message: "call it from a thread of your own")
    package func addKey(
        _ key: PrivateKey, _ attributes: ItemAttributes, isExtractable: Bool, existing requirement: ExistingKey = .any
    ) throws -> KeyItem {
        let pair = try NewObject.pair(
            key, label: [UInt8](attributes[.label]?.labelBytes ?? Data()), subject: nil, isExtractable: isExtractable)
        return try addKey(attributes, pair.privateKey, with: pair.publicKey, existing: requirement)
    }

    /// Stores a public key, or makes an item of the public half of a private key that the token has.
    ///
    /// - Throws: As the form for private keys.
    @available(*, noasync, message: "call it from a thread of your own")
    package func addKey(_ key: PublicKey, _ attributes: ItemAttributes) throws -> KeyItem {
        let object = try NewObject(publicKey: key, label: [UInt8](attributes[.label]?.labelBytes ?? Data()))
        return try addKey(attributes, object, with: nil, existing: .any)
    }

    /// Makes one more item of a private key that the token has.
    ///
    /// - Parameter existing: What the key must be.
    /// - Throws: As the form for private keys; `itemNotFound` where the token has no such key.
    @available(*, noasync, message: "call it from a thread of your own")
    package func addKey(
        onToken publicKey: PublicKey, _ attributes: ItemAttributes, existing requirement: ExistingKey
    ) throws -> KeyItem {
        let keys = try keys()
        let attributes = try Self.recordable(attributes)
        var found: TokenObject?
        let recorded = try writer(keys).perform(.read) { objects in
            found = objects.first {
                $0.objectClass == .privateKey && $0.keyIdentifier == publicKey.identifier
            }
            if let found { try require(requirement, of: found, attributes) }
            return []
        } change: { _, _, _ in
            TokenWriter.Outcome()
        } commit: { writer, _ in
            guard let found else {
                throw KeychainError(.itemNotFound, "the key is not on token \"\(token.label)\".")
            }
            try refuseTwin(of: found, attributes, writer, keys)
            return try record(Item(.key, attributes), found, writer, keys, isNew: false)
        }
        return KeyItem(item: recorded)
    }

    private func addKey(
        _ attributes: ItemAttributes, _ object: NewObject, with half: NewObject?, existing requirement: ExistingKey
    ) throws -> KeyItem {
        let keys = try keys()
        let attributes = try Self.recordable(attributes)
        var existing: TokenObject?
        var isHidden = false
        var missing: [NewObject] = []
        let recorded = try writer(keys).perform(.create) { objects in
            existing = objects.first { object.isSame(as: $0) }
            if let existing { try require(requirement, of: existing, attributes) }
            isHidden = object.objectClass == .publicKey && objects.contains {
                $0.objectClass == .privateKey && $0.keyIdentifier == Data(object.id)
            }
            missing = [object, half].compactMap { $0 }.filter { new in !objects.contains { new.isSame(as: $0) } }
            return missing.map { UnfinishedObject(making: $0) }
        } change: { session, leftovers, _ in
            TokenWriter.Outcome(added: try missing.map { try self.create($0, in: session, leftovers) })
        } commit: { writer, outcome in
            guard let existing else {
                guard let made = TokenStore.completing(outcome.added).first else {
                    throw KeychainError(.failed, "the token made no key.")
                }
                return try record(Item(.key, attributes), made, writer, keys)
            }
            if !isHidden { try refuseTwin(of: existing, attributes, writer, keys) }
            return try record(Item(.key, attributes), existing, writer, keys, isNew: false)
        }
        return KeyItem(item: recorded)
    }

    /// Whether a key is what it must be, so that one more item may be made of it.
    ///
    /// - Parameter attributes: Those of the item that is to be made of the key.
    /// - Throws: `KeychainError`; `duplicateItem`, or `keyNotExtractable`, where it is not.
    func require(_ requirement: ExistingKey, of existing: TokenObject, _ attributes: ItemAttributes) throws {
        let mayLeave = existing.flags.contains(.extractable)
        switch requirement {
        case .refused:
            throw duplicate(.key, attributes)
        case .mayLeave where !mayLeave:
            throw KeychainError(
                .keyNotExtractable, "token \"\(token.label)\" has the key already, and does not give it out.",
                details: ["token": token.label])
        case .mustStay where mayLeave:
            throw KeychainError(
                .duplicateItem, "token \"\(token.label)\" has the key already, and gives it out.",
                hint: "Remove the items of it that may leave, then add it anew.", details: ["token": token.label])
        case .any, .mayLeave, .mustStay:
            return
        }
    }

    /// Refuses a second item with the primary key of an object that another tool made, which has no row.
    func refuseTwin(
        of object: TokenObject, _ attributes: ItemAttributes, _ writer: any StoreWriter, _ keys: VaultKeys
    ) throws {
        guard let itemClass = object.itemClass else { return }
        var hasRow = false
        let term = try keys.term(itemClass, .objectFingerprint, .data(object.fingerprint))
        try writer.forEachRow(classDigest: keys.digest(of: itemClass), terms: [term], withSecrets: false) { _ in
            hasRow = true
            return false
        }
        guard !hasRow else { return }
        let base = try object.itemAttributes()
        var complete = base
        complete.merge(attributes)
        guard try keys.primaryKey(itemClass, base) != keys.primaryKey(itemClass, complete) else {
            throw duplicate(itemClass, attributes)
        }
    }

    /// The attributes as the class has them, without those that only the token can say.
    static func recordable(_ attributes: ItemAttributes) throws -> ItemAttributes {
        var attributes = try ClassSchema.of(.key).coerce(attributes)
        for name in [AttributeName.isSensitive, .wasAlwaysSensitive, .isExtractable, .wasNeverExtractable] {
            attributes[name] = nil
        }
        return attributes
    }
}
