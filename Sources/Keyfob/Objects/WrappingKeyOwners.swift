import Foundation
import KeyfobPrimitives
import PKCS11

/// Maps the wrapping keys on a token to the user's keychains that they seal.
///
/// People clean up a token by the list of its objects. If a wrapping key is not marked there and gets deleted, all
/// passwords of its keychain are lost. For a keychain that cannot be read, the label of its first key serves as the
/// mark.
struct WrappingKeyOwners {
    /// The keychains' names, by the keys' `CKA_ID`.
    private var names: [Data: String] = [:]
    /// The names of keychains that cannot be read, by the label of their first key.
    private var namesByLabel: [String: String] = [:]

    /// Creates the empty map, for a token without a keychain.
    init() {}

    /// Creates the map for the token of a keychain.
    ///
    /// - Throws: `KeychainError` if the keychain's own vault cannot be read.
    init(of keychain: Keychain) throws {
        for row in try keychain.vaultRows.wrappingKeyRows() { names[row.objectID] = keychain.name }
        // A token created by Keyfob has exactly one keychain.
        guard keychain.token.softHSM == nil else { return }
        // If the other keychains cannot be listed, still show this one's.
        guard let listing = try? Keychains(keychain.directories).listing() else { return }
        // One deadline for all keychains together.
        let deadline = keychain.deadline
        let use: SQLiteStore.Use = keychain.options.isOneShot ? .oneShot : .look
        for other in listing.keychains
        where other.uuid != keychain.configuration.uuid && other.module != .softHSM && other.takesPasswords {
            guard let rows = other.wrappingKeyRows(use, until: deadline) else {
                namesByLabel[other.wrappingKeyLabel] = other.name
                continue
            }
            for row in rows where names[row.objectID] == nil { names[row.objectID] = other.name }
        }
    }

    /// The name of the keychain that a key seals; `nil` for any other object.
    func keychain(sealedBy object: TokenObject) -> String? {
        guard object.objectClass != .certificate else { return nil }
        return names[object.id] ?? object.label?.text.flatMap { namesByLabel[$0] }
    }
}

extension KeychainConfiguration {
    /// The wrapping keys of the keychain's vault; `nil` if the vault cannot be read or another process locks it until
    /// `deadline`.
    ///
    /// Opening the keychain reports the reason.
    fileprivate func wrappingKeyRows(_ use: SQLiteStore.Use, until deadline: Deadline) -> [WrappingKeyRow]? {
        try? SQLiteStore(
            path: vault, keychain: name, use: use, busyTimeout: deadline.remainingSeconds
        ).read { try $0.wrappingKeys() }
    }
}
