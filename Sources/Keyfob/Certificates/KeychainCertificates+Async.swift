import Foundation
import KeyfobPrimitives
public import KeyfobOpenSSL
import PKCS11

/// The asynchronous forms. Each runs its blocking form on a thread of Keyfob.
extension KeychainCertificates {
    /// The chain of a certificate.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func chain(of certificate: Certificate) async throws -> CertificateChain {
        try await keychain.run { try self.chain(of: certificate) }
    }

    /// The chain of a certificate, with further candidates.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func chain(of certificate: Certificate, with further: [Certificate]) async throws -> CertificateChain {
        try await keychain.run { try self.chain(of: certificate, with: further) }
    }

    /// Adds certificates, all or none.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    @discardableResult
    public func add(contentsOf certificates: [CertificateItem]) async throws -> [CertificateItem] {
        try await keychain.run { try self.add(contentsOf: certificates) }
    }

    /// The certificates that the token shows without a login.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func publicCertificates(label: String? = nil) async throws -> [CertificateItem] {
        try await keychain.run { try self.publicCertificates(label: label) }
    }
}
