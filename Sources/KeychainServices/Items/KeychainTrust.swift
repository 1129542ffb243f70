import Keyfob
import KeyfobOpenSSL

/// Certificates in the process's keychain that matter for trust.
enum KeychainTrust {
    /// Returns the anchors for a purpose; empty if the keychain cannot be opened without user interaction.
    ///
    /// Errors of the keychain are ignored: trust can be evaluated without one.
    static func anchors(for purpose: CertificateChain.Purpose) -> [Certificate] {
        guard let usage = CertificateUsage.known.first(where: { $0.purpose == purpose }),
            let anchors = try? currentKeychain().trust.anchorsIfUnlocked(for: usage)
        else { return [] }
        return anchors.map(\.certificate)
    }

    /// Returns the visible authorities that may have issued a certificate. Being in the keychain does not make them
    /// trusted.
    ///
    /// The result is empty if the keychain cannot be opened without user interaction.
    static func intermediates() -> [Certificate] {
        var request = ItemRequest(itemClass: .certificate)
        request.matchesAnySynchronizable = true
        // Without a keychain, or with a damaged one, the evaluation proceeds without its certificates.
        guard let operations = try? ItemOperations.current(), let criteria = try? operations.criteria(request) else {
            return []
        }
        return ((try? operations.keychain.certificates.certificatesIfUnlocked(criteria)) ?? []).filter(\.isCA)
    }
}
