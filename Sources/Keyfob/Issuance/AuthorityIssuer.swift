import Foundation
import OpenSSL

/// A small private authority, whose key is on the token of a keychain.
public struct AuthorityIssuer: CertificateIssuer {
    /// How long ago certificates begin, for clocks that are behind, in seconds.
    static let clockTolerance: TimeInterval = 60

    private let identity: Identity
    private let keychain: Keychain
    private let isForeign: Bool

    /// An authority.
    ///
    /// - Parameters:
    ///   - identity: An identity of `keychain` whose certificate is an authority's.
    ///   - isForeign: Whether the keychain is another one than that of the identities it issues for.
    public init(_ identity: Identity, in keychain: Keychain, isForeign: Bool = false) {
        self.identity = identity
        self.keychain = keychain
        self.isForeign = isForeign
    }

    /// The authority by its name, and its keychain's where that is another one.
    public var issuerDescription: IssuerDescription {
        .authority(identity.label ?? "", keychain: isForeign ? keychain.name : nil)
    }

    /// Makes a certificate that ends no later than the authority's own. One token operation.
    ///
    /// - Throws: `KeychainError`; `certificateExpired` or `certificateNotYetValid` for an authority that may not sign
    ///   now, `invalidArgument` for a request that it cannot fulfil or that its own certificate does not allow, and
    ///   what the token refuses.
    public func issue(_ order: CertificateOrder) throws -> IssuedCertificate {
        let authority = try identity.certificate()
        let name = self.name(authority)
        guard order.request.hasValidSignature else {
            throw KeychainError(.issuerFailed, "the request was not signed with the key it is about.")
        }
        let request = order.request
        let unsigned = try self.unsigned(
            request.subject, request.publicKey, request.extensions, lifetime: order.lifetime)
        if Date() + (order.lifetime ?? SelfIssuer.standardLifetime) > authority.notAfter {
            order.report("shortened to the end of authority \"\(name)\"")
        }
        let key = try keychain.tokenKey(for: identity)
        let certificate = try key.checkingSignature { try unsigned.signed { try key.sign($0, using: $1) } }
        // Name constraints, and whatever else stands in the authority's certificate.
        let verdict = try CertificateChain.verify(leaf: certificate, intermediates: [], anchors: [authority])
        let command = "keyfob \(isForeign ? "-k \(ShellWord.quoted(keychain.name)) " : "")cert"
        if let failure = verdict.failure {
            throw KeychainError(
                .invalidArgument, "authority \"\(name)\" may not issue this certificate: \(failure.code).",
                hint: "See what it is for: \(command) show \(ShellWord.operand(name))",
                details: ["reason": failure.code.description])
        }
        let above = try keychain.chain(of: authority).certificates
        if let (usage, issuer) = Self.usageNotAllowed(of: certificate, by: above) {
            let allowed = issuer.extendedKeyUsage.map(\.description).joined(separator: ", ")
            throw KeychainError(
                .invalidArgument,
                "authority \"\(name)\" may not issue this certificate: "
                    + "\(issuer.subjectSummary ?? name) is not for \(usage).",
                hint: "It is for: \(allowed). See \(command) chain \(authority.word(for: name))",
                details: ["usage": usage.description])
        }
        if let reason = try Self.refusal(of: certificate, by: above) {
            throw KeychainError(
                .invalidArgument, "those above authority \"\(name)\" do not allow this certificate: \(reason).",
                hint: "See what they are for: \(command) chain \(authority.word(for: name))",
                details: ["reason": reason])
        }
        return IssuedCertificate(certificate: certificate, chain: above)
    }

    /// What the authority would sign.
    ///
    /// - Throws: `KeychainError`; `certificateExpired` or `certificateNotYetValid` for an authority that may not sign
    ///   now, `invalidArgument` for one that is none, and for what cannot be written.
    func unsigned(
        _ subject: DistinguishedName, _ publicKey: PublicKey, _ extensions: CertificateExtensions,
        lifetime: TimeInterval?
    ) throws -> UnsignedCertificate {
        let (authority, now) = (try identity.certificate(), Date())
        let error = KeychainError.validity(
            of: authority, name: name(authority), on: now, renewal: identity.renewalHint("Renew"))
        if let error { throw error }
        let wanted = now + (lifetime ?? SelfIssuer.standardLifetime)
        return try KeychainError.describingRequests {
            try UnsignedCertificate(
                subject: subject, publicKey: publicKey, extensions: extensions, issuer: authority,
                notBefore: max(now - Self.clockTolerance, authority.notBefore),
                notAfter: min(wanted, authority.notAfter))
        }
    }

    /// What messages call the authority.
    private func name(_ certificate: Certificate) -> String {
        identity.label ?? certificate.subjectSummary ?? "the authority"
    }

    /// The first usage that a certificate names and one of those above it does not, with that one: programs take the
    /// usages of an authority as a limit for what it issues (RFC 5280 does not say so).
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

    /// Why a certificate is worthless below a chain, the one that signed it first, by what the others have to say.
    private static func refusal(of certificate: Certificate, by chain: [Certificate]) throws -> String? {
        guard let last = chain.last, chain.count > 1 else { return nil }
        // How many authorities stand below each, when the certificate has issued something (RFC 5280 6.1.4). libcrypto
        // counts them only then.
        var below = certificate.isCA ? 1 : 0
        for authority in chain {
            if let length = authority.pathLength, below > length {
                return CertificateChain.FailureCode.pathTooLong.description
            }
            if !authority.isSelfIssued { below += 1 }
        }
        let code = try CertificateChain.verify(leaf: certificate, intermediates: chain, anchors: [last]).failure?.code
        // Anything else, such as a root that has expired, is none of this certificate's.
        let reasons: [CertificateChain.FailureCode] = [.nameNotPermitted, .nameExcluded, .pathTooLong]
        return code.flatMap { reasons.contains($0) ? $0.description : nil }
    }
}
