public import Foundation
public import OpenSSL

/// Somebody who makes a certificate of a request.
///
/// Implementation guidance: `issue` blocks for as long as the issuer takes, and is called on a thread that may block.
/// It changes nothing in the keychain: what it returns is checked against the key and installed by the caller.
public protocol CertificateIssuer: Sendable {
    /// How to find the issuer again for the next certificate; `nil` where nobody could.
    var issuerDescription: IssuerDescription { get }

    /// Makes the certificate.
    ///
    /// - Throws: `KeychainError`; `issuerFailed` where the issuer does not give one.
    func issue(_ order: CertificateOrder) throws -> IssuedCertificate
}

/// What an issuer is asked for.
public struct CertificateOrder: Sendable {
    /// The request, signed with the key that the certificate shall be about.
    public let request: CertificationRequest
    /// That key, for issuers that are the key itself.
    public let key: TokenKey
    /// For how long, in seconds; `nil` leaves it to the issuer.
    public let lifetime: TimeInterval?
    /// Takes note of a step that is done, such as `order ok`, for people who wait.
    public let report: @Sendable (String) -> Void
    /// The name of the identity that the certificate is for.
    let name: String
    /// Whether the key was made for this certificate.
    let isKeyNew: Bool
}

/// What an issuer gives.
public struct IssuedCertificate: Sendable {
    /// The certificate.
    public let certificate: Certificate
    /// Certificates above it, in any order.
    public let chain: [Certificate]

    /// A certificate with what is above it.
    public init(certificate: Certificate, chain: [Certificate]) {
        self.certificate = certificate
        self.chain = chain
    }

    /// The certificate for a request among those that an issuer gave, with the others as its chain.
    ///
    /// - Throws: `KeychainError` with code `issuerFailed` where none is for the request's key.
    init(_ certificates: [Certificate], for request: CertificationRequest, by issuer: String) throws {
        // With the same key as before, the certificate before may stand among them.
        let fitting = certificates.filter { $0.publicKey == request.publicKey }
        guard let own = fitting.max(by: { $0.notBefore < $1.notBefore }) else {
            throw KeychainError(
                .issuerFailed,
                "\(issuer) gave \(certificates.count) certificates, none of them for the key of the request.")
        }
        certificate = own
        chain = certificates.filter { $0 != own }
    }
}

extension KeychainError {
    /// The error for a certificate of an issuer elsewhere that serves nobody; `nil` for one to install.
    ///
    /// Such an issuer would be asked again at every run, with a success each time. Names that it leaves out would be
    /// lost for good: the next request takes them from this certificate.
    ///
    /// - Parameter old: The certificate that is renewed.
    static func shortfall(
        of certificate: Certificate, for request: CertificationRequest, replacing old: Certificate?
    ) -> KeychainError? {
        let (now, unchanged) = (Date(), "Nothing was changed. See what the issuer does with the request.")
        guard certificate.notAfter > now else {
            let moment = certificate.notAfter.formatted(.iso8601)
            return KeychainError(
                .issuerFailed, "the issuer gave a certificate that expired on \(moment).", hint: unchanged,
                details: ["notAfter": moment])
        }
        guard certificate != old else {
            return KeychainError(
                .issuerFailed, "the issuer gave the certificate that is in use already.", hint: unchanged)
        }
        let missing = certificate.names(missingOf: request).map { $0.ipText.map { "IP Address:\($0)" } ?? "\($0)" }
        guard !missing.isEmpty else { return nil }
        let listed = missing.joined(separator: ", ")
        return KeychainError(
            .issuerFailed, "the issuer gave a certificate without the names that were asked for: \(listed).",
            hint: "Nothing was changed. The names stand in the request (subjectAltName): openssl has "
                + "-copy_extensions copy.", details: ["names": listed])
    }
}

extension Certificate {
    /// The host names, addresses, e-mail addresses and URIs of a request that the certificate is not for.
    ///
    /// Names of other kinds are left out: issuers know few of them, and may write them anew.
    func names(missingOf request: CertificationRequest) -> [GeneralName] {
        let own = Set(subjectAlternativeNames.map(\.folded))
        return request.extensions.subjectAlternativeNames.filter { name in
            switch name {
            case .other: false
            // A wildcard that covers it will do.
            case .dns(let host): !own.contains(name.folded) && !matches(host: host)
            case .ip, .email, .uri: !own.contains(name.folded)
            }
        }
    }
}

extension GeneralName {
    /// The name as it is compared: names are the same in any case, and in letters of a language or in Punycode.
    fileprivate var folded: GeneralName {
        switch self {
        case .dns(let host): .dns(Certificate.asciiName(ofHost: host).lowercased())
        case .email(let address): .email(address.lowercased())
        case .uri(let uri): .uri(uri.lowercased())
        case .ip, .other: self
        }
    }
}

/// The key itself: a certificate that nobody else vouches for.
public struct SelfIssuer: CertificateIssuer {
    /// For how long certificates are valid unless the order says so: 90 days, in seconds.
    public static let standardLifetime: TimeInterval = 90 * 86_400

    /// An issuer of self-signed certificates.
    public init() {}

    /// The identity's own key.
    public var issuerDescription: IssuerDescription { .itself }

    /// Makes a self-signed certificate. One token operation.
    ///
    /// - Throws: `KeychainError`; `invalidArgument` for a request that cannot be fulfilled, and what the token refuses.
    public func issue(_ order: CertificateOrder) throws -> IssuedCertificate {
        let now = Date()
        let certificate = try KeychainError.describingRequests {
            try UnsignedCertificate(
                subject: Self.subject(of: order.request), publicKey: order.request.publicKey,
                extensions: order.request.extensions, issuer: nil, notBefore: now - AuthorityIssuer.clockTolerance,
                notAfter: now + (order.lifetime ?? Self.standardLifetime))
        }.signed { try order.key.sign($0, using: $1) }
        return IssuedCertificate(certificate: certificate, chain: [])
    }

    /// The subject of a request; where it is empty, its first name that fits.
    ///
    /// The subject is the issuer here, which may not be empty (RFC 5280 4.1.2.4): Java refuses such a certificate, and
    /// with it the whole token.
    private static func subject(of request: CertificationRequest) throws -> DistinguishedName {
        guard request.subject.isEmpty else { return request.subject }
        let names = request.extensions.subjectAlternativeNames.compactMap { name -> String? in
            switch name {
            case .dns(let text), .email(let text), .uri(let text): text
            default: name.ipText
            }
        }
        // RFC 5280 A.1: ub-common-name.
        return try DistinguishedName(commonName: names.first { $0.count <= 64 } ?? "self-signed")
    }
}

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
        let name = identity.label ?? authority.subjectSummary ?? "the authority"
        let now = Date()
        if let error = KeychainError.validity(of: authority, name: name, on: now) { throw error }
        guard order.request.hasValidSignature else {
            throw KeychainError(.issuerFailed, "the request was not signed with the key it is about.")
        }
        let wanted = now + (order.lifetime ?? SelfIssuer.standardLifetime)
        if wanted > authority.notAfter { order.report("shortened to the end of authority \"\(name)\"") }
        let certificate = try KeychainError.describingRequests {
            try UnsignedCertificate(
                subject: order.request.subject, publicKey: order.request.publicKey,
                extensions: order.request.extensions, issuer: authority,
                notBefore: max(now - Self.clockTolerance, authority.notBefore),
                notAfter: min(wanted, authority.notAfter))
        }.signed { try keychain.tokenKey(for: identity).sign($0, using: $1) }
        // Name constraints, and whatever else stands in the authority's certificate.
        if let failure = try CertificateChain.verify(leaf: certificate, intermediates: [], anchors: [authority]).failure {
            throw KeychainError(
                .invalidArgument, "authority \"\(name)\" may not issue this certificate: \(failure.code).",
                hint: "See what it is for: keyfob cert show \(name)", details: ["reason": failure.code.description])
        }
        let above = try keychain.chain(of: authority).certificates
        if let (usage, issuer) = Self.usageNotAllowed(of: certificate, by: above) {
            let allowed = issuer.extendedKeyUsage.map(\.description).joined(separator: ", ")
            throw KeychainError(
                .invalidArgument,
                "authority \"\(name)\" may not issue this certificate: "
                    + "\(issuer.subjectSummary ?? name) is not for \(usage).",
                hint: "It is for: \(allowed). See keyfob cert chain \(name)", details: ["usage": usage.description])
        }
        if let reason = try Self.refusal(of: certificate, by: above) {
            throw KeychainError(
                .invalidArgument, "those above authority \"\(name)\" do not allow this certificate: \(reason).",
                hint: "See what they are for: keyfob cert chain \(name)", details: ["reason": reason])
        }
        return IssuedCertificate(certificate: certificate, chain: above)
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

extension KeychainError {
    /// Runs `body`; what cannot be written into a request or certificate is an argument's fault.
    static func describingRequests<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as CryptoError {
            throw KeychainError(
                error.code == .unsupportedKey ? .mechanismUnsupported : .invalidArgument,
                "this certificate cannot be made: \(error.detail).", cause: error)
        }
    }
}
