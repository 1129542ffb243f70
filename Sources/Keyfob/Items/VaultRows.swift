/// The rows of the vault as items.
package struct VaultRows: Sendable {
    package let keychain: Keychain
}

extension Keychain {
    /// The rows of the vault.
    package var vaultRows: VaultRows { VaultRows(keychain: self) }
}
