public import Foundation
public import KeyfobOpenSSL

/// The contents of a certificate that an authority grants to the request of another machine.
///
/// The request supplies only a key, a subject and names. Everything else is decided by the authority.
public struct SigningTerms: Sendable {
    /// The subject; `nil` for the one of the request.
    public var subject: DistinguishedName?
    /// The alternative names; `nil` for those of the request.
    public var names: [GeneralName]?
    /// The usages; `nil` for those of the request, or that of a server if it has none.
    public var usages: [CertificateUsage]?
    /// The constraints of an authority; `nil` refuses the request of an authority.
    public var authority: BasicConstraints?
    /// The lifetime in seconds; `nil` for the authority's standard.
    public var lifetime: TimeInterval?

    /// Creates terms that grant the subject, the names and the usages of the request.
    public init(
        subject: DistinguishedName? = nil, names: [GeneralName]? = nil, usages: [CertificateUsage]? = nil,
        authority: BasicConstraints? = nil, lifetime: TimeInterval? = nil
    ) {
        self.subject = subject
        self.names = names
        self.usages = usages
        self.authority = authority
        self.lifetime = lifetime
    }
}

/// Signing requests of other machines.
extension AuthorityIssuer {
    /// Issues a certificate for a request that another machine made.
    ///
    /// The signature of the request proves that its sender has the key. Extensions of the request are not copied: names
    /// and usages are read, an authority is refused unless the terms grant it, and the rest is left out. The name
    /// constraints, usages and path lengths of the authority and of those above it are checked. The certificate expires
    /// no later than the authority's own. Uses one token operation.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - terms: The contents that the authority grants.
    ///   - report: Called if the lifetime was shortened.
    /// - Returns: The certificate, and those above it.
    /// - Throws: `KeychainError`; `certificateInvalid` if the request was not signed with its key, `refused` if it asks
    ///   for something that the terms do not grant, and the errors of `issue(_:)` except `issuerFailed`.
    @available(*, noasync, message: "call it from a thread of your own")
    public func sign(
        _ request: CertificationRequest, terms: SigningTerms = SigningTerms(), report: (String) -> Void = { _ in }
    ) throws -> IssuedCertificate {
        let (subject, extensions) = try granted(request, terms)
        return try issue(subject, request.publicKey, extensions, lifetime: terms.lifetime, report: report)
    }

    /// Checks a request as `sign(_:terms:report:)` does, without signing.
    ///
    /// The limits of the authorities are not checked, since this needs a signature.
    ///
    /// - Throws: `KeychainError`; the errors of `sign(_:terms:report:)`.
    package func requireSignable(_ request: CertificationRequest, terms: SigningTerms) throws {
        let (subject, extensions) = try granted(request, terms)
        _ = try unsigned(subject, request.publicKey, extensions, lifetime: terms.lifetime)
    }

    private func granted(
        _ request: CertificationRequest, _ terms: SigningTerms
    ) throws -> (DistinguishedName, CertificateExtensions) {
        guard request.hasValidSignature else {
            throw KeychainError(
                .certificateInvalid, "the request was not signed with the key that it is about; nothing was signed.",
                hint: "Make the request again. Its sender must have the private key.")
        }
        if case .rsa(let bits) = request.publicKey.algorithm, bits < 2048 {
            throw Self.refusal("its RSA key has only \(bits) bits", "Make a key of 2048 bits or more.")
        }
        let authority = try certificate()
        let subject = terms.subject ?? request.subject
        // Such a certificate looks like the authority's own, and does not count for path lengths.
        guard subject.canonical != authority.subject.canonical, request.publicKey != authority.publicKey else {
            throw Self.refusal(
                "it has the name or the key of authority \"\(name(authority))\"",
                "Use another subject and another key.")
        }
        let names = terms.names ?? request.extensions.subjectAlternativeNames
        for name in names where terms.names == nil {
            if case .other = name {
                throw Self.refusal("it asks for a name of an unknown kind, \(name)", "State the names in the terms.")
            }
        }
        let asksForAuthority = request.extensions.basicConstraints?.isAuthority == true
            || request.extensions.keyUsage.map { !$0.isDisjoint(with: [.keyCertSign, .crlSign]) } ?? false
        if let constraints = terms.authority {
            // A longer path would not be allowed by this authority.
            let longest = authority.pathLength.map { $0 - 1 }
            if let longest, let length = constraints.pathLength, length > longest {
                throw Self.refusal(
                    "authority \"\(name(authority))\" allows at most \(max(0, longest)) authorities below it",
                    "Choose a shorter path.")
            }
            var extensions = CertificateExtensions.authority(pathLength: constraints.pathLength ?? longest)
            extensions.subjectAlternativeNames = names
            return (subject, extensions)
        }
        guard !asksForAuthority else {
            throw KeychainError(
                .refused, "the request is refused: it asks for the certificate of an authority.",
                remedies: [Remedy("If it is to be an authority below this one", .change(.authority))])
        }
        return (subject, .endEntity(names, try purposes(request, terms), key: request.publicKey.algorithm))
    }

    /// The purposes of the certificate; none for any.
    private func purposes(_ request: CertificationRequest, _ terms: SigningTerms) throws -> [ExtendedKeyUsage] {
        if let usages = terms.usages {
            return usages.contains(.any) ? [] : usages.compactMap(\.extendedKeyUsage)
        }
        let asked = request.extensions.extendedKeyUsage
        // For example the signing of revocation answers, which only an authority delegates.
        let known = Set(CertificateUsage.known.compactMap(\.extendedKeyUsage))
        if let other = asked.first(where: { !known.contains($0) }) {
            throw KeychainError(
                .refused, "the request is refused: it asks for the usage \(other).",
                remedies: [Remedy("State the usages", .change(.usage))])
        }
        return asked.isEmpty ? [.serverAuth] : asked
    }

    private static func refusal(_ reason: String, _ hint: String) -> KeychainError {
        KeychainError(.refused, "the request is refused: \(reason).", hint: hint)
    }
}
