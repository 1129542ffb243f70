import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

/// The asynchronous forms. Each runs its blocking form on a thread of Keyfob.
extension KeychainIntegrity {
    /// The findings of a check of the vault.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func findings() async throws -> [VaultFinding] { try await keychain.run { try self.findings() } }

    /// The passwords whose secret cannot be opened.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func secretFindings() async throws -> [VaultFinding] { try await keychain.run { try self.secretFindings() } }

    /// Accepts the current rows of the vault as valid.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func acceptVault() async throws -> Int { try await keychain.run { try self.acceptVault() } }

    /// Removes the items that fail their integrity check.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func removeDamagedItems() async throws -> [VaultFinding] {
        try await keychain.run { try self.removeDamagedItems() }
    }

    /// Destroys the objects that interrupted changes have left on the token.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    @discardableResult
    public func removeUnlistedObjects() async throws -> [VaultFinding] {
        try await keychain.run { try self.removeUnlistedObjects() }
    }
}
