import Foundation

/// Recognising a token by the objects that the vault lists.
extension TokenItems {
    /// Checks that an object of the vault's rows is on the token, unless no row names an object.
    ///
    /// - Throws: `KeychainError` with code `itemNotFound`; the errors of reading the token and the vault.
    func requireListedObject(_ keys: VaultKeys) throws {
        let listed = try [ItemClass.key, .certificate].reduce(into: Set<Data>()) { listed, itemClass in
            listed.formUnion(try rows(itemClass, keys).keys)
        }
        guard !listed.isEmpty else { return }
        let present = try keychain.token.readObjects().objects.map(\.fingerprint)
        guard !listed.isDisjoint(with: present) else {
            throw KeychainError(
                .itemNotFound,
                "token \"\(keychain.token.label)\" has none of the keys and certificates of keychain "
                    + "\"\(keychain.name)\"; nothing was changed.",
                remedies: [Remedy("List the tokens", .listTokens)], details: ["token": keychain.token.label])
        }
    }
}
