import Foundation
import KeyfobPrimitives
import PKCS11

/// Which of a user's keychains the keys on a token seal.
///
/// Whoever tidies a token up goes by a list of what is on it, and with a key that is not marked there all passwords of
/// a keychain are lost: where a keychain cannot be read, the name that its first key bears marks that.
struct WrappingKeyOwners {
    /// The keychains' names, by the keys' `CKA_ID`.
    private var names: [Data: String] = [:]
    /// Those of keychains that cannot be read, by the label of their first key.
    private var namesByLabel: [String: String] = [:]

    /// Of a token without a keychain.
    init() {}

    /// Of the token of a keychain.
    ///
    /// - Throws: `KeychainError` where the keychain's own vault cannot be read.
    init(of keychain: Keychain) throws {
        for row in try keychain.wrappingKeyRows() { names[row.objectID] = keychain.name }
        // A token that Keyfob made has one keychain.
        guard keychain.token.softHSM == nil else { return }
        // The other keychains are no reason to hide this one's token.
        guard let listing = try? Keychains(keychain.directories).listing() else { return }
        // For all of them together.
        let deadline = keychain.deadline
        let use: SQLiteStore.Use = keychain.options.isOneShot ? .oneShot : .look
        for other in listing.keychains where other.uuid != keychain.configuration.uuid && other.module != .softHSM {
            guard let rows = other.wrappingKeyRows(use, until: deadline) else {
                namesByLabel[other.wrappingKeyLabel] = other.name
                continue
            }
            for row in rows where names[row.objectID] == nil { names[row.objectID] = other.name }
        }
    }

    /// The keychain that a key seals; `nil` for any other object.
    func keychain(sealedBy object: TokenObject) -> String? {
        guard object.objectClass == .secretKey else { return nil }
        return names[object.id] ?? object.label?.text.flatMap { namesByLabel[$0] }
    }
}

extension KeychainConfiguration {
    /// The wrapping keys of the keychain's vault; `nil` where that cannot be read, which is told to whoever opens it,
    /// or where another process keeps everybody else out until `deadline`.
    fileprivate func wrappingKeyRows(_ use: SQLiteStore.Use, until deadline: Deadline) -> [WrappingKeyRow]? {
        try? SQLiteStore(
            path: vault, keychain: name, use: use, busyTimeout: deadline.remainingSeconds
        ).read { try $0.wrappingKeys() }
    }
}
