import Foundation
import KeyfobPrimitives
import PKCS11

/// Row keys on their way to the token and back.
extension Keychain {
    /// Wraps a row key for every active wrapping key. One token operation for each.
    func recipients(of rowKey: SecretBytes) throws -> [Recipient] {
        let rows = try wrappingKeyRows().filter(\.isActive)
        guard !rows.isEmpty else {
            throw KeychainError(.wrappingKeyMissing, "keychain \"\(name)\" has no active wrapping key.")
        }
        return try rows.map { row in
            let suite = try WrapSuites.named(row.suite)
            let encryptedKey = try token.withSession(.wrap) { session in
                try suite.wrap(rowKey, with: handle(of: row, isSealing: true, in: session), in: session)
            }
            return Recipient(wrappingKey: row.id, encryptedKey: encryptedKey)
        }
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
            do { return try unwrap(recipient.encryptedKey, key) } catch let error as KeychainError
                where error.code == .wrappingKeyMissing
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
