package import KeyfobPrimitives
import PKCS11

/// Adding items by the rules of Keychain Services, for the module that translates its calls.
extension Keychain {
    /// Adds an item that lies in the vault alone: a password, or bare attributes of a certificate or key, with or
    /// without bytes that no token holds.
    ///
    /// Tombstones and damaged rows of the same primary key make room.
    ///
    /// - Throws: As `add(_:secret:)` for passwords; `invalidArgument` for an identity.
    @available(*, noasync, message: "call it from a thread of your own")
    package func addToVault(_ item: Item, secret: SecretBytes?) throws -> Item {
        guard item.itemClass != .identity else {
            throw KeychainError(.invalidArgument, "an identity is a certificate and a key, and has no row of its own.")
        }
        guard let added = try addRows([(item, secret)], replacesDead: true).first else {
            throw KeychainError(.failed, "nothing was added.")
        }
        return added
    }

    /// The first password that matches, by the order of the vault.
    package enum FirstPassword {
        /// It, and its secret where it has one.
        case found(Item, SecretBytes?)
        /// Nothing matches.
        case none
        /// Something on the way to it is damaged: only ``findItems(_:)`` and ``secret(of:)`` can tell what counts.
        case damaged
    }

    /// Finds the first password that matches together with its secret, in one reading of the vault. One operation of
    /// the token where there is a secret.
    ///
    /// - Parameter criteria: Attributes that are in the form of the class already, as `ClassSchema.coerce` gives them.
    /// - Throws: As `findItems(_:)` and `secret(of:)`, but for damage.
    @available(*, noasync, message: "call it from a thread of your own")
    package func firstPassword(coerced criteria: Criteria) throws -> FirstPassword {
        let keys = try keys()
        var found: (row: SealedRow, item: Item)?
        var isDamaged = false
        try store.read(keys.tree) { reader in
            try forEachRow(
                criteria, keys, reader: reader, withSecrets: true, onDamage: { _, _ in isDamaged = true }
            ) { row, item in
                found = (row, item)
                return false
            }
        }
        guard !isDamaged else { return .damaged }
        guard let (row, item) = found else { return .none }
        do { return .found(item, try openSecret(row, item.itemClass)) } catch let error as KeychainError
            where error.code == .vaultDamaged
        { return .damaged }
    }

    /// The passwords that match, as `findItems(_:)` gives them, for criteria whose attributes are in the form of the
    /// class already.
    ///
    /// - Throws: As `findItems(_:)`.
    @available(*, noasync, message: "call it from a thread of your own")
    package func findPasswords(coerced criteria: Criteria) throws -> [Item] { try findRows(criteria) }

    /// Adds a certificate, or makes one more item of a certificate that the token has already.
    ///
    /// - Throws: As for certificates; `duplicateItem` only where the whole primary key is taken.
    @available(*, noasync, message: "call it from a thread of your own")
    package func addSharing(_ item: CertificateItem) throws -> CertificateItem {
        CertificateItem(item: try addCertificates([item.item], sharesObjects: true)[0])
    }
}

extension Item {
    /// Whether there is an object on the token behind it.
    package var isOnToken: Bool { object != nil }
}

extension Item {
    /// Whether the object on the token is a private key.
    package var isPrivateKey: Bool { object?.objectClass == .privateKey }

    /// Of an identity, the reference of its certificate.
    package var certificateReference: PersistentReference? {
        itemClass == .identity ? reference?.retagged(.certificate) : nil
    }
}
