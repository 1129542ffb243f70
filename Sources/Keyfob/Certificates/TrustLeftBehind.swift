import Foundation
import KeyfobPrimitives
package import OpenSSL

/// Trust that older versions of an identity have, and the one in use has not.
package struct TrustLeftBehind: Sendable {
    /// What the versions are called that are still trusted.
    package let versions: [String]
    /// Whether all of them have expired, so that their being trusted makes nobody accept anything.
    package let isExpired: Bool
    /// The command that trusts the one in use, for the same.
    package let command: String
}

/// What hints say of trust: which certificate, for a label may be another one's too, and what it is to be trusted for.
extension Keychain {
    /// The trust that a change of versions has left behind; `nil` where there is none, or the version in use is trusted
    /// too.
    ///
    /// Trust is in a certificate, and somebody's decision: no change of versions takes it along.
    ///
    /// - Throws: `KeychainError`; as `trustAnchors(for:)`.
    package func trustLeftBehind(by change: IdentityInstallation) throws -> TrustLeftBehind? {
        guard !change.kept.isEmpty else { return nil }
        let (anchors, certificate) = (try trustAnchors(), try change.identity.certificate())
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
        return TrustLeftBehind(
            versions: versions, isExpired: left.allSatisfy { $0.certificate.notAfter < now },
            command: "keyfob trust add \(name)\(Self.trustOptions(for: left.flatMap(\.usages)))")
    }

    /// What `keyfob trust add` is to be told so that a certificate takes the place of an expired anchor of the
    /// keychain, for which a verification failed: a valid one with its name and its key, for what the anchor is trusted
    /// for. `nil` where there is none.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`, and where the keychain cannot be read.
    package func successor(in verification: CertificateVerification) throws -> String? {
        guard let failure = verification.result.failure, failure.code == .expired, let expired = failure.certificate
        else { return nil }
        let usages = try trustAnchors().filter { $0.certificate == expired }.flatMap(\.usages)
        guard !usages.isEmpty else { return nil }
        // What is no certificate is nobody's successor.
        let known = try publicCertificates().compactMap { item in
            (try? item.certificate()).map { (label: item.label, certificate: $0) }
        }
        let next = known.filter {
            $0.certificate.subject == expired.subject && $0.certificate.publicKey == expired.publicKey
                && $0.certificate.isValid(on: verification.date)
        }.max { $0.certificate.notAfter < $1.certificate.notAfter }
        return try next.map { try word(for: $0.certificate, called: $0.label) + Self.trustOptions(for: usages) }
    }

    /// What names a certificate of the keychain in commands that take files too: what it is called, where no other one
    /// is, else its fingerprint.
    ///
    /// - Parameter label: What the keychain calls it; the object on the token, by which those commands look, may be
    ///   called otherwise.
    /// - Throws: `KeychainError` where the vault, or the token where it is needed, cannot be read.
    package func word(for certificate: Certificate, called label: String?) throws -> String {
        let fingerprint = "sha256:" + certificate.sha256Fingerprint.hexadecimal.prefix(16)
        guard let label else { return fingerprint }
        let bearers = try publicCertificates(label: label)
        let isOnlyOne = !bearers.isEmpty && bearers.allSatisfy { $0.der == certificate.der }
        return isOnlyOne ? certificate.word(for: label) : fingerprint
    }

    /// The options of `keyfob trust add` that make it trust for these usages and no more, each with a space before it.
    static func trustOptions(for usages: [CertificateUsage]) -> String {
        guard !usages.contains(.any) else { return "" }
        return Set(usages.map(\.rawValue)).sorted().map { " --for \(ShellWord.quoted($0))" }.joined()
    }
}
