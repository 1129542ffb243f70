import Foundation
import KeyfobPrimitives
package import KeyfobOpenSSL

/// Trust in older versions of an identity, if the version in use is not trusted.
package struct StaleTrust: Sendable {
    /// The labels of the versions that are still trusted.
    package let versions: [String]
    /// Whether all of them have expired, so that trusting them has no effect.
    package let isExpired: Bool
    /// Trust in the version in use for the same usages.
    package let operation: Remedy.Operation
}

/// Hints about trust: the certificate to trust, by a word that is unambiguous, and the usages.
extension KeychainTrust {
    /// The trust that a change of versions has left behind; `nil` if there is none, or the version in use is trusted
    /// too.
    ///
    /// The user decides to trust a certificate, so a change of versions does not move the trust.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`, and of reading the token or the vault.
    package func stale(by change: IdentityInstallation) throws -> StaleTrust? {
        guard !change.kept.isEmpty else { return nil }
        let (anchors, certificate) = (try anchors(), try change.identity.certificate())
        guard !anchors.contains(where: { $0.certificate == certificate }) else { return nil }
        var versions: [String] = []
        var left: [TrustAnchor] = []
        for (label, der) in zip(change.kept, change.predecessors) {
            let own = anchors.filter { $0.certificate.der == der }
            guard !own.isEmpty else { continue }
            versions.append(label)
            left += own
        }
        guard !left.isEmpty else { return nil }
        let now = Date()
        let name = try word(for: certificate, called: change.identity.label)
        return StaleTrust(
            versions: versions, isExpired: left.allSatisfy { $0.certificate.notAfter < now },
            operation: .trust(name, usages: CertificateUsage.names(of: left.flatMap(\.usages))))
    }

    /// Trust in the successor of an expired anchor for which a verification failed.
    ///
    /// The successor is a valid certificate with the anchor's subject and key; `nil` if there is none.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`, and of reading the keychain.
    package func successor(in verification: CertificateVerification) throws -> Remedy.Operation? {
        guard let failure = verification.result.failure, failure.code == .expired, let expired = failure.certificate
        else { return nil }
        let usages = try anchors().filter { $0.certificate == expired }.flatMap(\.usages)
        guard !usages.isEmpty else { return nil }
        // Skip an object of the certificate class that does not hold a certificate.
        let known = try keychain.certificates.publicCertificates().compactMap { item in
            (try? item.certificate()).map { (label: item.label, certificate: $0) }
        }
        let next = known.filter {
            $0.certificate.subject == expired.subject && $0.certificate.publicKey == expired.publicKey
                && $0.certificate.isValid(on: verification.date)
        }.max { $0.certificate.notAfter < $1.certificate.notAfter }
        return try next.map {
            .trust(try word(for: $0.certificate, called: $0.label), usages: CertificateUsage.names(of: usages))
        }
    }

    /// The name of a certificate of the keychain where a file could be named too: its label if unique, otherwise its
    /// fingerprint.
    ///
    /// - Parameter label: The label in the keychain; that of the object on the token, by which a search goes, may
    ///   differ.
    /// - Throws: `KeychainError` if the vault, or the token if it is needed, cannot be read.
    package func word(for certificate: Certificate, called label: String?) throws -> String {
        let fingerprint = "sha256:" + certificate.sha256Fingerprint.hexadecimal.prefix(16)
        guard let label else { return fingerprint }
        let bearers = try keychain.certificates.publicCertificates(label: label)
        let isOnlyOne = !bearers.isEmpty && bearers.allSatisfy { $0.der == certificate.der }
        return isOnlyOne ? certificate.word(for: label) : fingerprint
    }
}
