import Foundation
package import KeyfobOpenSSL
import PKCS11

/// The private key of an identity to add.
package enum IdentityKey: Sendable {
    /// A key in memory, and whether it may be extracted from the token.
    case memory(PrivateKey, isExtractable: Bool)
    /// A key that is already on the token.
    case token(PublicKey)
}

extension KeychainIdentities {
    /// Adds the certificate and the key of an identity in one step, each with its own attributes.
    ///
    /// A process killed at any instant leaves either all new objects or none.
    ///
    /// One of the two may be an item already, and stays unchanged.
    ///
    /// - Parameter existing: The requirement for a key that is already on the token.
    /// - Returns: The new items; `nil` for a half that was an item already.
    /// - Throws: `KeychainError`; `duplicateItem` if both are items already, or another certificate has the same issuer
    ///   and serial number; `itemNotFound` if the key should be on the token and is not; `keyNotExtractable` or
    ///   `duplicateItem` if the key does not meet the requirement; and the errors of adding a certificate or key.
    ///   Nothing is stored then.
    @available(*, noasync, message: "call it from a thread of your own")
    package func add(
        _ certificate: CertificateItem, key: IdentityKey, _ keyAttributes: ItemAttributes,
        existing requirement: ExistingKeyPolicy
    ) throws -> (certificate: Item?, key: Item?) {
        try keychain.withDeadline { [self] in
            let keys = try keychain.vaultKeys()
            var leafItem = certificate.item
            let parsed = try leafItem.certificate
            leafItem.attributes = try ClassSchema.of(.certificate).coerce(leafItem.attributes)
            if leafItem.attributes[.label] == nil {
                leafItem.attributes[.label] = parsed.ownName.map { .string($0) }
            }
            let leaf = NewObject(certificate: parsed, label: leafItem.attributes[.label])
            let keyItem = Item(.key, try KeychainKeys.recordable(keyAttributes))
            var halves: [NewObject] = []
            let publicKey: PublicKey
            switch key {
            case .memory(let key, let isExtractable):
                publicKey = key.publicKey
                let pair = try NewObject.pair(
                    key, label: [UInt8](keyItem.attributes[.label]?.labelBytes ?? Data()),
                    subject: [UInt8](parsed.subject.der),
                    isExtractable: isExtractable)
                halves = [pair.privateKey, pair.publicKey]
            case .token(let key): publicKey = key
            }
            var existing: (certificate: TokenObject?, key: TokenObject?)
            return try keychain.writer(keys).create { objects in
                existing.certificate = objects.first { leaf.isSame(as: $0) }
                existing.key = objects.first {
                    $0.objectClass == .privateKey && $0.keyIdentifier == publicKey.identifier
                }
                guard existing.key != nil || !halves.isEmpty else {
                    throw KeychainError(.itemNotFound, "the key is not on token \"\(keychain.token.label)\".")
                }
                if let key = existing.key { try keychain.keys.require(requirement, of: key, keyItem.attributes) }
                return halves + [leaf]
            } commit: { writer, added in
                let made = TokenStore.completing(added)
                let addedCertificate = try self.recordHalf(
                    leafItem, made: made.first { $0.objectClass == .certificate }, existing: existing.certificate,
                    writer, keys)
                let addedKey = try self.recordHalf(
                    keyItem, made: made.first { $0.objectClass == .privateKey }, existing: existing.key, writer, keys)
                guard addedCertificate != nil || addedKey != nil else {
                    throw keychain.vaultRows.duplicate(.identity, leafItem.attributes)
                }
                return (addedCertificate, addedKey)
            }
        }
    }

    /// Records one half of an identity that is added or imported.
    ///
    /// - Returns: The item; `nil` if the half is an item already. Then `existing` is its object and `made` is `nil`.
    /// - Throws: `KeychainError`; `duplicateItem` if another item has the primary key, that is, another certificate
    ///   with this issuer and serial number.
    func recordHalf(
        _ item: Item, made: TokenObject?, existing: TokenObject?, _ writer: any StoreWriter, _ keys: VaultKeys
    ) throws -> Item? {
        guard let object = made ?? existing else { throw KeychainError(.failed, "the token made another object.") }
        do {
            if made == nil { try keychain.keys.refuseTwin(of: object, item.attributes, writer, keys) }
            return try keychain.tokenItems.recordItem(item, object, writer, keys, isNew: made != nil)
        } catch let error as KeychainError where error.code == .duplicateItem && made == nil { return nil }
    }
}
