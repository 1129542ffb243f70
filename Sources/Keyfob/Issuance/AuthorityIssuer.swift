import Foundation
import KeyfobOpenSSL

/// A small private authority whose key is on the token of a keychain.
public struct AuthorityIssuer: CertificateIssuer {
    /// How far certificates are backdated for clients whose clock is behind, in seconds.
    static let clockTolerance: TimeInterval = 60

    private let identity: Identity
    private let keychain: Keychain
    private let isForeign: Bool

    /// Creates an authority.
    ///
    /// - Parameters:
    ///   - identity: An identity of `keychain` with the certificate of an authority.
    ///   - isForeign: Whether `keychain` differs from the keychain of the identities that it issues for.
    public init(_ identity: Identity, in keychain: Keychain, isForeign: Bool = false) {
        self.identity = identity
        self.keychain = keychain
        self.isForeign = isForeign
    }

    /// The authority by its name, and the name of its keychain if that is another one.
    public var issuerDescription: IssuerDescription {
        .authority(identity.label ?? "", keychain: isForeign ? keychain.name : nil)
    }

    /// Makes a certificate that expires no later than the authority's own. Uses one token operation.
    ///
    /// - Throws: `KeychainError`; `certificateExpired` or `certificateNotYetValid` if the authority's certificate is
    ///   not valid now, `issuerFailed` if the request's signature is invalid, `invalidArgument` for a request that
    ///   cannot be fulfilled or that the authority's certificate does not allow, and the errors of the token.
    public func issue(_ order: CertificateOrder) throws -> IssuedCertificate {
        guard order.request.hasValidSignature else {
            throw KeychainError(.issuerFailed, "the request was not signed with the key it is about.")
        }
        let request = order.request
        return try issue(
            request.subject, request.publicKey, request.extensions, lifetime: order.lifetime, report: order.report)
    }

    /// Makes a certificate, if the authority and those above it allow it.
    ///
    /// - Throws: `KeychainError`; the errors of `issue(_:)` except `issuerFailed`.
    func issue(
        _ subject: DistinguishedName, _ publicKey: PublicKey, _ extensions: CertificateExtensions,
        lifetime: TimeInterval?, report: (String) -> Void
    ) throws -> IssuedCertificate {
        let authority = try identity.certificate()
        let name = self.name(authority)
        let unsigned = try self.unsigned(subject, publicKey, extensions, lifetime: lifetime)
        if Date() + (lifetime ?? Self.standardLifetime(extensions)) > authority.notAfter {
            report("shortened to the end of authority \"\(name)\"")
        }
        let key = try keychain.keys.tokenKey(for: identity)
        let certificate = try key.checkingSignature { try unsigned.signed { try key.sign($0, using: $1) } }
        // Checks name constraints and the other limits in the authority's certificate.
        let verdict = try CertificateChain.verify(leaf: certificate, intermediates: [], anchors: [authority])
        // An authority in another keychain: the remedies concern that one.
        let place = isForeign ? ["keychain": keychain.name] : [:]
        if let failure = verdict.failure {
            throw KeychainError(
                .invalidArgument, "authority \"\(name)\" may not issue this certificate: \(failure.code).",
                remedies: [Remedy("See what it is for", .showCertificate(name))],
                details: place.merging(["reason": failure.code.description]) { $1 })
        }
        let above = try keychain.certificates.chain(of: authority).certificates
        if let (usage, issuer) = Self.usageNotAllowed(of: certificate, by: above) {
            let allowed = issuer.extendedKeyUsage.map(\.description).joined(separator: ", ")
            throw KeychainError(
                .invalidArgument,
                "authority \"\(name)\" may not issue this certificate: "
                    + "\(issuer.subjectSummary ?? name) is not for \(usage).",
                remedies: [Remedy("It is for: \(allowed)."), Remedy("See", .showChain(authority.word(for: name)))],
                details: place.merging(["usage": usage.description]) { $1 })
        }
        if let reason = try Self.refusal(of: certificate, by: above) {
            throw KeychainError(
                .invalidArgument, "those above authority \"\(name)\" do not allow this certificate: \(reason).",
                remedies: [Remedy("See what they are for", .showChain(authority.word(for: name)))],
                details: place.merging(["reason": reason]) { $1 })
        }
        return IssuedCertificate(certificate: certificate, chain: above)
    }

    /// The unsigned certificate.
    ///
    /// - Throws: `KeychainError`; `certificateExpired` or `certificateNotYetValid` if the authority's certificate is
    ///   not valid now, `invalidArgument` if it is not an authority, and for contents that cannot be encoded.
    func unsigned(
        _ subject: DistinguishedName, _ publicKey: PublicKey, _ extensions: CertificateExtensions,
        lifetime: TimeInterval?
    ) throws -> UnsignedCertificate {
        let (authority, now) = (try identity.certificate(), Date())
        let error = KeychainError.validity(
            of: authority, name: name(authority), on: now, renewal: identity.renewalRemedies("Renew"))
        if let error { throw error }
        let wanted = now + (lifetime ?? Self.standardLifetime(extensions))
        return try KeychainError.describingRequests {
            try UnsignedCertificate(
                subject: subject, publicKey: publicKey, extensions: extensions, issuer: authority,
                notBefore: max(now - Self.clockTolerance, authority.notBefore),
                notAfter: min(wanted, authority.notAfter))
        }
    }

    /// The lifetime of a certificate unless the order has another: 5 years for an authority below this one.
    private static func standardLifetime(_ extensions: CertificateExtensions) -> TimeInterval {
        extensions.basicConstraints?.isAuthority == true ? 5 * 365 * 86_400 : SelfIssuer.standardLifetime
    }

    /// The authority's certificate.
    func certificate() throws -> Certificate { try identity.certificate() }

    /// The name of the authority in messages.
    func name(_ certificate: Certificate) -> String {
        identity.label ?? certificate.subjectSummary ?? "the authority"
    }

    /// The first usage of a certificate that an authority above it lacks, and that authority.
    ///
    /// Programs treat the usages of an authority as a limit for what it issues, although RFC 5280 does not say so.
    private static func usageNotAllowed(
        of certificate: Certificate, by chain: [Certificate]
    ) -> (ExtendedKeyUsage, Certificate)? {
        for usage in certificate.extendedKeyUsage where usage != .any {
            for issuer in chain where !issuer.extendedKeyUsage.isEmpty {
                let allowed = issuer.extendedKeyUsage
                if !allowed.contains(usage), !allowed.contains(.any) { return (usage, issuer) }
            }
        }
        return nil
    }

    /// The reason why the rest of a chain does not allow a certificate; `nil` if it does.
    ///
    /// The first certificate of `chain` is the one that signed it.
    private static func refusal(of certificate: Certificate, by chain: [Certificate]) throws -> String? {
        guard let last = chain.last, chain.count > 1 else { return nil }
        // The number of authorities below each, once the certificate itself has issued something (RFC 5280 6.1.4).
        // libcrypto counts them only then.
        var below = certificate.isCA ? 1 : 0
        for authority in chain {
            if let length = authority.pathLength, below > length {
                return CertificateChain.FailureCode.pathTooLong.description
            }
            if !authority.isSelfIssued { below += 1 }
        }
        let code = try CertificateChain.verify(leaf: certificate, intermediates: chain, anchors: [last]).failure?.code
        // Any other failure, such as an expired root, is not a fault of this certificate.
        let reasons: [CertificateChain.FailureCode] = [.nameNotPermitted, .nameExcluded, .pathTooLong]
        return code.flatMap { reasons.contains($0) ? $0.description : nil }
    }
}
