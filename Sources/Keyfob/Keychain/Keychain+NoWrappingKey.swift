import Foundation
import KeyfobOpenSSL
import KeyfobPrimitives
import PKCS11

/// Keychains whose token wraps no keys.
///
/// Such a keychain stores no secret. Its vault has rows that add names and versions to the objects on the token. These
/// rows are sealed under a metadata key like in every vault, but no key on the token can seal that key, so the vault
/// contains it in clear. It is not sealed under the PIN: a copy of the vault would then allow trying all PINs of a card
/// without the card. The mode of the directory protects the rows, as it protects the configuration, which names the
/// module that the process loads. An attacker who can write only the vault cannot make an ordinary keychain one of this
/// kind, since the configuration says so too.
extension Keychain {
    /// Writes a metadata key that no key on the token seals.
    func recordBareMetadataKey() throws {
        let metadataKey = try RandomBytes.secret(count: 32)
        let row = WrappingKeyRow(
            keyID: KeychainConfiguration.noWrapSuite, suite: KeychainConfiguration.noWrapSuite, objectID: Data(),
            encryptedMetadataKey: metadataKey.copyBytes(), created: SealedRow.now(), isActive: false)
        let keys = try VaultKeys(metadataKey: metadataKey, vault: store.identity)
        _ = try store.write(keys.tree) { writer in
            try writer.beginRecord()
            return try writer.insert(row)
        }
    }

    /// Makes the metadata key of a new keychain without a wrapping key, proves the PIN, and unlocks the keychain.
    ///
    /// - Parameter pin: The token's PIN.
    /// - Throws: `KeychainError`, and errors of the token.
    func startWithoutWrappingKey(pin: SecretBytes) throws {
        try recordBareMetadataKey()
        let source = try pinSource().source
        _ = try logIn(pin: pin, stored: source.isInteractive ? nil : source)
    }

    /// Returns the keys of a vault that contains its metadata key in clear.
    ///
    /// - Parameter rows: All rows of wrapping keys.
    /// - Throws: `KeychainError` with code `vaultDamaged` if the key is missing.
    func bareMetadataKey(_ rows: [WrappingKeyRow]) throws -> VaultKeys {
        let row = rows.first { $0.suite == KeychainConfiguration.noWrapSuite && $0.encryptedMetadataKey.count == 32 }
        guard let row else {
            throw KeychainError(
                .vaultDamaged, "the vault of keychain \"\(name)\" has lost its metadata key.",
                hint: KeychainError.restoring(vault: configuration.vault), details: ["keychain": name])
        }
        return try VaultKeys(metadataKey: SecretBytes(row.encryptedMetadataKey), vault: store.identity)
    }

    /// Checks that the keychain can store secrets.
    ///
    /// - Throws: `KeychainError` with code `mechanismUnsupported` if no key on its token can seal them.
    package func requireSealing() throws(KeychainError) {
        guard !configuration.takesPasswords else { return }
        throw KeychainError(
            .mechanismUnsupported,
            "keychain \"\(name)\" takes no passwords: it has no key on token \"\(token.label)\" that can seal them; "
                + "nothing was stored.",
            remedies: [
                Remedy("Store them in another keychain", .change(.keychain)),
                Remedy("Or make a keychain with a key on this token that can decrypt", .change(.wrappingKey)),
            ],
            details: ["token": token.label])
    }
}
