public import Foundation
public import KeyfobPrimitives
public import KeyfobOpenSSL
import PKCS11

/// The asynchronous forms. Each runs its blocking form on a thread of Keyfob.
extension KeychainIdentities {
    /// Imports an identity.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func importKeyPair(
        key: PrivateKey, certificate: Certificate, chain: [Certificate] = [], label: String? = nil,
        isExtractable: Bool = false, isReplacing: Bool = false
    ) async throws -> IdentityImport {
        try await keychain.run {
            try self.importKeyPair(
                key: key, certificate: certificate, chain: chain, label: label, isExtractable: isExtractable,
                isReplacing: isReplacing)
        }
    }

    /// Imports every identity of a PKCS#12 file.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func importPKCS12(
        _ data: Data, fileName: String, passphrase: SecretBytes?, label: String? = nil, isExtractable: Bool = false,
        allowsLegacy: Bool = true, isReplacing: Bool = false
    ) async throws -> [IdentityImport] {
        try await keychain.run {
            try self.importPKCS12(
                data, fileName: fileName, passphrase: passphrase, label: label, isExtractable: isExtractable,
                allowsLegacy: allowsLegacy, isReplacing: isReplacing)
        }
    }

    /// An identity as a PKCS#12 file.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func export(_ identity: Identity, passphrase: SecretBytes) async throws -> Data {
        try await keychain.run { try self.export(identity, passphrase: passphrase) }
    }

    /// Checks an identity.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func check(_ identity: Identity, on date: Date = Date()) async throws -> [IdentityFinding] {
        try await keychain.run { try self.check(identity, on: date) }
    }

    /// Prefers an identity for a service.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    @discardableResult
    public func prefer(_ identity: Identity, for service: String) async throws -> Bool {
        try await keychain.run { try self.prefer(identity, for: service) }
    }
}
