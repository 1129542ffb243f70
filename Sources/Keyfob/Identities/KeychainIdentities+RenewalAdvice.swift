package import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL

extension Identity {
    /// How to get the next certificate: a renewal, or the alternatives if the identity has no renewal policy.
    ///
    /// - Parameters:
    ///   - text: The words for a renewal, such as `Renew`.
    ///   - changes: How the renewal differs from the usual one.
    package func renewalRemedies(_ text: String, _ changes: [Remedy.Renewal] = []) -> [Remedy] {
        let name = label ?? "sha256:" + Digest.sha256(der).hexadecimal.prefix(16)
        guard renewalPolicy == nil else { return [Remedy(text, .renewIdentity(name, changes))] }
        // Data that is not a certificate has no issuer.
        let isSelfSigned = (try? certificate().isSelfSigned) ?? false
        return [
            // For a key that was made on the token and is in no file.
            Remedy("Get a new certificate", .installCertificate(identity: label)),
            Remedy("With a new key", .replaceIdentity(label)),
            Remedy("Or renew it", .renewIdentity(name, changes + [isSelfSigned ? .selfSigned : .namedIssuer])),
        ]
    }
}

extension KeychainIdentities {
    /// The advice for an identity that has expired or will expire.
    ///
    /// - Parameters:
    ///   - text: The words for a renewal, such as `Renew`.
    ///   - changes: How the renewal differs from the usual one.
    /// - Throws: `KeychainError`; the errors of `unlock()`, and of reading the token.
    package func renewalAdvice(
        for identity: Identity, _ text: String = "Renew it", _ changes: [Remedy.Renewal] = []
    ) throws -> [Remedy] {
        // An older version is kept for a while and then retired, never renewed.
        guard let name = identity.nameOfVersion else { return identity.renewalRemedies(text, changes) }
        // Another certificate that cannot be read does not matter here.
        let own = (try? versions(of: identity)) ?? []
        return try retirementWords(for: [identity], of: name, besides: own).map {
            Remedy("Another version is in use; to destroy this one", .retireIdentity($0))
        }
    }

    /// The advice for a certificate that failed verification; `nil` for one that passed.
    ///
    /// Also `nil` if the answer would need a PIN.
    package func renewalAdvice(in verification: CertificateVerification) -> [Remedy]? {
        guard let failure = verification.result.failure else { return nil }
        // This only improves a hint, so a read error is ignored.
        guard (try? keychain.keysIfUnlocked()) != nil, let identities = try? keychain.find(.identities) else {
            return nil
        }
        let own = identities.filter { $0.der == verification.certificate.der }
        // A certificate whose key is not here is renewed elsewhere.
        guard let identity = own.first(where: { $0.nameOfVersion == nil }) ?? own.first else {
            return [Remedy("Get a new one from the authority above it", .importCertificate)]
        }
        // The renewal is not due yet, and a new key of the same kind would be as weak.
        let changes: [Remedy.Renewal] = switch failure.code {
        case .weakSignature: [.early]
        case .weakKey, .weakAuthorityKey: [.early, .rsaKey]
        default: []
        }
        // A read error is ignored here too.
        return try? renewalAdvice(for: identity, "Renew", changes)
    }

    /// The error for an identity whose certificate is not valid on a date; `nil` if it is valid.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`, and of reading the token. `KeyFileError` for data that is
    ///   not a certificate.
    package func validityError(of identity: Identity, on date: Date) throws -> KeychainError? {
        let certificate = try identity.certificate()
        guard !certificate.isValid(on: date) else { return nil }
        let advice = try renewalAdvice(for: identity, "Renew")
        return KeychainError.validity(of: certificate, name: identity.label ?? "NAME", on: date, renewal: advice)
    }
}
