public import Foundation
import KeyfobPrimitives
public import KeyfobOpenSSL
import PKCS11

/// The asynchronous forms. Each runs its blocking form on a thread of Keyfob.
extension KeychainKeys {
    /// Generates a key on the token.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func generate(
        _ specification: KeySpecification, label: String, applicationTag: Data? = nil, isExtractable: Bool = false,
        isLabelUnique: Bool = false
    ) async throws -> KeyItem {
        try await keychain.run {
            try self.generate(
                specification, label: label, applicationTag: applicationTag, isExtractable: isExtractable,
                isLabelUnique: isLabelUnique)
        }
    }

    /// Imports a private key without a certificate.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func importKey(_ key: PrivateKey, label: String, isExtractable: Bool = false) async throws -> KeyItem {
        try await keychain.run { try self.importKey(key, label: label, isExtractable: isExtractable) }
    }

    /// The key of an item, ready for use.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func tokenKey(for key: KeyItem) async throws -> TokenKey {
        try await keychain.run { try self.tokenKey(for: key) }
    }

    /// The private key of an identity, ready for use.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func tokenKey(for identity: Identity) async throws -> TokenKey {
        try await keychain.run { try self.tokenKey(for: identity) }
    }

    /// The public half of a key.
    ///
    /// - Throws: `KeychainError`, `OpenSSLError`; the errors of the blocking form.
    public func publicKey(of key: KeyItem) async throws -> PublicKey? {
        try await keychain.run { try self.publicKey(of: key) }
    }

    /// A certification request for the key of an identity.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func certificationRequest(
        for identity: Identity, subject: DistinguishedName, extensions: CertificateExtensions,
        scheme: SignatureScheme? = nil
    ) async throws -> CertificationRequest {
        try await keychain.run {
            try self.certificationRequest(for: identity, subject: subject, extensions: extensions, scheme: scheme)
        }
    }
}
