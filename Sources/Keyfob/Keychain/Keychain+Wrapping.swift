import Foundation
import KeyfobPrimitives
import PKCS11

/// Row keys on their way to the token and back.
extension Keychain {
    /// Wraps a row key for every active wrapping key of the keychain's own. One token operation for each, and one more
    /// the first time.
    func recipients(of rowKey: SecretBytes, _ keys: VaultKeys) throws -> [Recipient] {
        let active = try wrappingKeyRows().filter(\.isActive)
        let rows = try active.filter { try isOwn($0, keys) }
        guard !rows.isEmpty else {
            guard let row = active.first else {
                throw KeychainError(.wrappingKeyMissing, "keychain \"\(name)\" has no active wrapping key.")
            }
            // As whoever unwraps with it is told.
            _ = try token.withSession(.wrap) { try handle(of: row, isSealing: true, in: $0) }
            throw KeychainError(
                .vaultDamaged,
                "wrapping key \"\(row.keyID)\" of keychain \"\(name)\" does not open what it sealed: it was damaged, or "
                    + "is another one. Nothing was stored.",
                hint: "Restore the token's files from a backup; then look: keyfob keychain check "
                    + ShellWord.operand(name),
                details: ["key": row.keyID])
        }
        return try rows.map { row in
            let suite = try WrapSuites.named(row.suite)
            let encryptedKey = try token.withSession(.wrap) { session in
                try suite.wrap(rowKey, with: handle(of: row, isSealing: true, in: session), in: session)
            }
            return Recipient(wrappingKey: row.id, encryptedKey: encryptedKey)
        }
    }

    /// Whether a wrapping key is the keychain's own and whole: it unwraps the metadata key, which nobody else knows.
    ///
    /// Nothing else authenticates the rows of wrapping keys. Somebody who can write the vault, and put an object on the
    /// token, could name a key among them that he knows, and read what is sealed from then on; and what is sealed with
    /// a key whose file was damaged opens with no backup of it. Such a key is passed over when something is sealed, and
    /// is a finding of ``vaultFindings()``. One token operation, once for each process.
    ///
    /// - Throws: `KeychainError`; what the token answers that says nothing about the key.
    func isOwn(_ row: WrappingKeyRow, _ keys: VaultKeys) throws -> Bool {
        try lockState.withLock({ $0.ownWrappingKeys.contains(row) }) || provesOwn(row, keys)
    }

    /// The same asked of the token now, whatever was known. - Throws: As that.
    func provesOwn(_ row: WrappingKeyRow, _ keys: VaultKeys) throws -> Bool {
        let isOwn: Bool
        do { isOwn = try unwrap(row.encryptedMetadataKey, row) == keys.metadataKey } catch let error as KeychainError
            where [.vaultDamaged, .wrappingKeyMissing].contains(error.code)
        { isOwn = false }
        lockState.withLock { state in
            if isOwn { state.ownWrappingKeys.insert(row) } else { state.ownWrappingKeys.remove(row) }
        }
        return isOwn
    }

    /// Unwraps a row key with the first recipient whose key the token has. One token operation.
    func rowKey(of row: SealedRow) throws -> SecretBytes {
        var rows = try wrappingKeyRows()
        if !row.recipients.contains(where: { recipient in rows.contains { $0.id == recipient.wrappingKey } }) {
            // Another process made a new wrapping key since this one looked.
            lockState.withLock { $0.wrappingKeys = [] }
            rows = try wrappingKeyRows()
        }
        var missing: (any Error)?
        for recipient in row.recipients {
            guard let key = rows.first(where: { $0.id == recipient.wrappingKey }) else { continue }
            // A key that was damaged opens nothing; another may be whole.
            do { return try unwrap(recipient.encryptedKey, key) } catch let error as KeychainError
                where [.wrappingKeyMissing, .vaultDamaged].contains(error.code)
            { missing = error }
        }
        throw missing ?? VaultKeys.damaged(cause: nil)
    }

    /// Unwraps one key. One token operation, once the wrapping key's handle is known.
    func unwrap(_ encryptedKey: [UInt8], _ row: WrappingKeyRow) throws -> SecretBytes {
        let suite = try WrapSuites.named(row.suite)
        return try token.withSession(.unwrap) { session in
            try suite.unwrap(encryptedKey, with: handle(of: row, in: session), in: session)
        }
    }

    /// The wrapping keys of the vault.
    func wrappingKeyRows() throws -> [WrappingKeyRow] {
        let cached = lockState.withLock { $0.wrappingKeys }
        guard cached.isEmpty else { return cached }
        let rows = try store.read { try $0.wrappingKeys() }
        lockState.withLock { $0.wrappingKeys = rows }
        return rows
    }

    private func handle(
        of row: WrappingKeyRow, isSealing: Bool = false, in session: borrowing Session
    ) throws -> ObjectHandle {
        guard let handle = try token.handle(ofSecretKey: row.objectID, isSealing: isSealing, in: session) else {
            throw KeychainError(
                .wrappingKeyMissing,
                "keychain \"\(name)\" needs key \"\(row.keyID)\" and token \"\(token.label)\" does not have it.",
                hint: "Was the token re-initialised, or the vault replaced? Restore its backup.",
                details: ["key": row.keyID])
        }
        return handle
    }
}
