package import KeyfobPrimitives
import PKCS11

/// Operations by the rules of Keychain Services, for the module that translates its calls.
extension VaultRows {
    /// Adds an item that is stored only in the vault.
    ///
    /// That is a password, or the attributes of a certificate or key without an object, with or without bytes that no
    /// token holds.
    ///
    /// Tombstones and damaged rows with the same primary key are replaced.
    ///
    /// - Throws: `KeychainError`; the errors of `add(_:secret:)` for passwords; `invalidArgument` for an identity.
    @available(*, noasync, message: "call it from a thread of your own")
    package func addToVault(_ item: Item, secret: SecretBytes?) throws -> Item {
        try keychain.withDeadline { [self] in
            guard item.itemClass != .identity else {
                throw KeychainError(
                    .invalidArgument, "an identity is a certificate and a key, and has no row of its own.")
            }
            guard let added = try addRows([(item, secret)], replacesDead: true).first else {
                throw KeychainError(.failed, "nothing was added.")
            }
            return added
        }
    }

    /// The first matching password, in the order of the vault.
    package enum FirstPassword {
        /// The password, and its secret if it has one.
        case found(Item, SecretBytes?)
        /// No password matches.
        case none
        /// A row before the match is damaged: use ``findItems(_:)`` and ``secret(of:)`` instead.
        case damaged
    }

    /// Finds the first matching password and its secret, in one read of the vault and at most one token operation.
    ///
    /// - Parameter criteria: Criteria whose attributes `ClassSchema.coerce` has converted already.
    /// - Throws: `KeychainError`; the errors of `findItems(_:)` and `secret(of:)`, except for damaged rows.
    @available(*, noasync, message: "call it from a thread of your own")
    package func firstPassword(coerced criteria: Criteria) throws -> FirstPassword {
        try keychain.withDeadline { [self] in
            let keys = try keychain.vaultKeys()
            var found: (row: SealedRow, item: Item)?
            var isDamaged = false
            try keychain.store.read(keys.tree) { reader in
                try forEachRow(
                    criteria, keys, reader: reader, withSecrets: true, onDamage: { _, _ in isDamaged = true }
                ) { row, item in
                    found = (row, item)
                    return false
                }
            }
            guard !isDamaged else { return .damaged }
            guard let (row, item) = found else { return .none }
            do { return .found(item, try openSecret(row, item.itemClass, keys)) } catch let error as KeychainError
                where error.code == .vaultDamaged
            { return .damaged }
        }
    }
}

extension Item {
    /// Whether the item has an object on the token.
    package var isOnToken: Bool { object != nil }

    /// Whether the object on the token is a private key.
    package var isPrivateKey: Bool { object?.objectClass == .privateKey }

    /// The reference of the certificate, for an identity.
    package var certificateReference: PersistentReference? {
        itemClass == .identity ? reference?.retagged(.certificate) : nil
    }
}
