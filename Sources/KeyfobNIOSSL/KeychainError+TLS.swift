#if NIOSSL
import Foundation
import Keyfob
import KeyfobOpenSSL

/// Lasting and temporary errors.
extension KeychainError {
    /// Errors that last. Errors about an identity last until the token changes or a date is reached. After errors about
    /// a PIN, neither the token nor a person must be asked repeatedly.
    private static let lasting: Set<Code> = [
        .itemNotFound, .ambiguous, .identityMismatch, .mechanismUnsupported, .unsupportedFormat, .certificateExpired,
        .certificateNotYetValid, .certificateHostMismatch, .certificateUsageMismatch, .certificateInvalid,
        .chainIncomplete, .pinIncorrect, .pinLocked, .pinFinalTry, .pinRequired, .passphraseIncorrect, .cancelled,
    ]

    /// Whether the error may be gone at the next look. A keychain or a token that is busy, absent or locked says
    /// nothing about the identity.
    var isTransient: Bool {
        // A malformed certificate stays malformed.
        !Self.lasting.contains(code) && !(cause is KeyFileError)
    }
}

/// Errors of identities that cannot serve.
extension KeychainError {
    static func wrongHost(_ name: String, _ certificate: Certificate, _ host: String) -> KeychainError {
        let names = certificate.dnsNames.isEmpty
            ? certificate.subject.commonName ?? "no name" : certificate.dnsNames.joined(separator: ", ")
        return KeychainError(
            .certificateHostMismatch, "certificate \"\(name)\" is not for \(host); it is for \(names).",
            hint: "Choose the identity by host name, or renew it with this name.",
            details: ["certificate": name, "host": host])
    }

    static func wrongUsage(
        _ name: String, _ certificate: Certificate, _ usage: CertificateUsage
    ) -> KeychainError {
        let allowed = certificate.extendedKeyUsage.map(\.description).joined(separator: ", ")
        return KeychainError(
            .certificateUsageMismatch,
            "certificate \"\(name)\" may not be used for a TLS \(usage)"
                + (allowed.isEmpty ? ": its key usage has no signatures." : "; it is for \(allowed)."),
            hint: "Renew it for this usage.", details: ["certificate": name])
    }

    static func noIssuer(_ name: String, _ certificate: Certificate) -> KeychainError {
        KeychainError(
            .chainIncomplete,
            "no issuer certificate for \"\(name)\" "
                + "(issuer \(certificate.issuer.commonName ?? certificate.issuer.description)).",
            remedies: [Remedy("Add it", .importCertificate)], details: ["certificate": name])
    }

    static func mismatch(_ name: String, _ cause: KeychainError) -> KeychainError {
        KeychainError(
            .identityMismatch, "the certificate of \"\(name)\" was not issued for its key: public keys differ.",
            remedies: cause.remedies, details: ["certificate": name], cause: cause)
    }

    static func noTLS13(_ name: String, _ key: TokenTLSKey) -> KeychainError {
        let known = key.signatureAlgorithms.compactMap(\.scheme?.description)
        return KeychainError(
            .mechanismUnsupported,
            "the token of \"\(name)\" cannot sign TLS 1.3 handshakes: it has neither RSA-PSS nor raw RSA for this key.",
            hint: "It can do \(known.joined(separator: ", ")). Allow TLS 1.2, or use an EC key.",
            details: ["certificate": name])
    }

    static func noIdentity(_ query: Query<Identity>, keychain: String) -> KeychainError {
        let wanted = query.criteria.hostName.map { "for host \"\($0)\"" }
            ?? query.criteria.attributes[.label]?.text.map { "\"\($0)\"" } ?? "that fits"
        return KeychainError(
            .itemNotFound, "no identity \(wanted) in keychain \"\(keychain)\".",
            remedies: [Remedy("All identities", .listIdentities)])
    }
}
#endif
