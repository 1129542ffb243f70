import Foundation
import KeyfobOpenSSL
import KeyfobPrimitives
import PKCS11

/// Wrapping and unwrapping row keys with the token.
extension VaultRows {
    /// Wraps a row key for every active wrapping key of this keychain.
    ///
    /// Uses one token operation for each secret key, and one more the first time. A key pair needs none.
    ///
    /// - Parameter additionalData: The additional data of the secret, to which the wrapped keys are bound.
    func recipients(
        of rowKey: SecretBytes, _ additionalData: AdditionalData, _ keys: VaultKeys
    ) throws -> [Recipient] {
        let active = try wrappingKeyRows().filter(\.isActive)
        let rows = try active.filter { try isOwn($0, keys) }
        guard !rows.isEmpty else {
            guard let row = active.first else {
                throw KeychainError(.wrappingKeyMissing, "keychain \"\(keychain.name)\" has no active wrapping key.")
            }
            // Throws the same error as unwrapping with a missing key.
            _ = try keychain.token.withSession(.wrap) { try wrappingKey(row, isSealing: true, in: $0) }
            throw KeychainError(
                .vaultDamaged,
                "wrapping key \"\(row.keyID)\" of keychain \"\(keychain.name)\" does not open what it sealed: "
                    + "it was damaged, or is another one. Nothing was stored.",
                remedies: [Remedy("Restore the token's files from a backup; then look", .checkKeychain(keychain.name))],
                details: ["key": row.keyID])
        }
        return try rows.map { try keys.recipient(wrap(rowKey, for: $0), of: $0, additionalData) }
    }

    private func wrap(_ rowKey: SecretBytes, for row: WrappingKeyRow) throws -> [UInt8] {
        let suite = try WrapSuites.named(row.suite)
        if let suite = suite as? any PublicKeyWrapSuite { return try suite.wrap(rowKey, for: publicKey(of: row)) }
        return try keychain.token.withSession(.wrap) { session in
            try suite.wrap(rowKey, with: wrappingKey(row, isSealing: true, in: session), in: session)
        }
    }

    /// Whether a wrapping key is intact and belongs to this keychain.
    ///
    /// A secret key has to unwrap the metadata key, which uses one token operation, once per process. The public half
    /// of a key pair has a code that is made with the metadata key. Nothing else authenticates the rows of wrapping
    /// keys. An attacker who can write the vault and the token could add a key that he knows, and read everything
    /// sealed from then on. Secrets sealed with a damaged key could not be opened with a backup of the key. Such keys
    /// are not used for sealing, and are reported by ``KeychainIntegrity/findings()``.
    ///
    /// - Throws: `KeychainError`; errors of the token that do not concern the key.
    func isOwn(_ row: WrappingKeyRow, _ keys: VaultKeys) throws -> Bool {
        if try WrapSuites.named(row.suite) is any PublicKeyWrapSuite {
            return try isConfigured(row) && keys.authenticates(row)
        }
        return try keychain.lockState.withLock({ $0.ownWrappingKeys.contains(row) }) || provesOwn(row, keys)
    }

    /// Checks a wrapping key with the token now, without the cached result.
    ///
    /// - Throws: `KeychainError`; errors of the token that do not concern the key.
    func provesOwn(_ row: WrappingKeyRow, _ keys: VaultKeys) throws -> Bool {
        var isOwn: Bool
        do { isOwn = try openMetadataKey(row) == keys.metadataKey } catch let error as KeychainError
            where [.vaultDamaged, .wrappingKeyMissing].contains(error.code)
        { isOwn = false }
        if row.publicKey != nil { isOwn = try isOwn && keys.authenticates(row) }
        keychain.lockState.withLock { state in
            if isOwn { state.ownWrappingKeys.insert(row) } else { state.ownWrappingKeys.remove(row) }
        }
        return isOwn
    }

    /// Unwraps a row key for the first recipient whose key is on the token. Uses one token operation.
    ///
    /// - Throws: `KeychainError`; `vaultDamaged`, without a call of the token, if no recipient is intact.
    func rowKey(of row: SealedRow, _ additionalData: AdditionalData, _ keys: VaultKeys) throws -> SecretBytes {
        var failure = KeychainError.damagedItem(cause: nil)
        for (recipient, key) in try intactRecipients(of: row, additionalData, keys) {
            // A damaged key on the token opens nothing; another one may be intact.
            do { return try unwrap(recipient.encryptedKey, key) } catch let error as KeychainError
                where [.wrappingKeyMissing, .vaultDamaged].contains(error.code)
            { failure = error }
        }
        throw failure
    }

    /// The recipients of a row whose code is right, with their wrapping keys.
    func intactRecipients(
        of row: SealedRow, _ additionalData: AdditionalData, _ keys: VaultKeys
    ) throws -> [(recipient: Recipient, wrappingKey: WrappingKeyRow)] {
        var rows = try wrappingKeyRows()
        if !row.recipients.contains(where: { recipient in rows.contains { $0.id == recipient.wrappingKey } }) {
            // Another process has made a new wrapping key since the rows were cached.
            keychain.lockState.withLock { $0.wrappingKeys = [] }
            rows = try wrappingKeyRows()
        }
        return try row.recipients.compactMap { recipient in
            guard let key = rows.first(where: { $0.id == recipient.wrappingKey }),
                try keys.authenticates(recipient, of: key, additionalData)
            else { return nil }
            return (recipient, key)
        }
    }

    /// Unwraps one key. Uses one token operation once the handle of the wrapping key is known.
    func unwrap(_ encryptedKey: [UInt8], _ row: WrappingKeyRow) throws -> SecretBytes {
        let suite = try WrapSuites.named(row.suite)
        return try keychain.token.withSession(.unwrap) { session in
            try suite.unwrap(encryptedKey, with: wrappingKey(row, in: session), in: session)
        }
    }

    /// Opens the metadata key that a wrapping key seals. Uses one token operation.
    ///
    /// - Throws: `KeychainError`; `vaultDamaged` if another key sealed it, or if it was changed.
    func openMetadataKey(_ row: WrappingKeyRow) throws -> SecretBytes {
        let suite = try WrapSuites.named(row.suite)
        return try keychain.token.withSession(.unwrap) { session in
            try suite.openMetadataKey(
                row.encryptedMetadataKey, of: keychain.store.identity, with: wrappingKey(row, in: session), in: session)
        }
    }

    /// The wrapping keys of the vault.
    func wrappingKeyRows() throws -> [WrappingKeyRow] {
        let cached = keychain.lockState.withLock { $0.wrappingKeys }
        guard cached.isEmpty else { return cached }
        let rows = try keychain.store.read { try $0.wrappingKeys() }
        keychain.lockState.withLock { $0.wrappingKeys = rows }
        return rows
    }

    /// Whether a key pair is the one that the configuration names.
    private func isConfigured(_ row: WrappingKeyRow) -> Bool {
        row.objectID.hexadecimal == keychain.configuration.wrappingKeyID
    }

    private func publicKey(of row: WrappingKeyRow) throws -> PublicKey {
        guard let information = row.publicKey else { throw KeychainError.damagedItem(cause: nil) }
        do { return try PublicKey(subjectPublicKeyInfo: information) } catch {
            throw KeychainError.damagedItem(cause: error)
        }
    }

    private func wrappingKey(
        _ row: WrappingKeyRow, isSealing: Bool = false, in session: borrowing Session
    ) throws -> WrappingKey {
        let keyClass = try WrapSuites.named(row.suite).keyClass
        guard keyClass == .secretKey || isConfigured(row) else { throw KeychainError.damagedItem(cause: nil) }
        guard
            let handle = try keychain.token.handle(
                ofWrappingKey: row.objectID, keyClass, isSealing: isSealing, in: session)
        else {
            throw KeychainError(
                .wrappingKeyMissing,
                "keychain \"\(keychain.name)\" needs key \"\(row.keyID)\" and token "
                    + "\"\(keychain.token.label)\" does not have it.",
                hint: "Was the token re-initialised, or the vault replaced? Restore its backup.",
                details: ["key": row.keyID])
        }
        return WrappingKey(handle: handle, publicKey: try row.publicKey == nil ? nil : publicKey(of: row))
    }
}
