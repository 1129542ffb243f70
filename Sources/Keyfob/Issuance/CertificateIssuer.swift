public import Foundation
public import KeyfobOpenSSL

/// An issuer of certificates.
///
/// Implementation guidance: `issue` blocks for as long as the issuer takes, and is called on a thread that may block.
/// While it waits, it checks `isStopped` of the order. It must not change the keychain: the caller checks the
/// certificate against the key and installs it.
public protocol CertificateIssuer: Sendable {
    /// How to find the issuer again for the next certificate.
    var issuerDescription: IssuerDescription { get }

    /// The subject of a request to this issuer, given the wanted subject.
    ///
    /// Keyfob calls it before it makes a key or asks for a certificate, so that a request that the issuer would refuse
    /// fails early. Unless a type implements it, the subject is the wanted one.
    ///
    /// - Parameters:
    ///   - wanted: The subject that the caller asked for, or that of the certificate being renewed.
    ///   - names: The alternative names of the request.
    ///   - isAskedFor: Whether the caller asked for the subject; false for a renewal.
    /// - Throws: `KeychainError` with code `invalidArgument` for a subject or name that the issuer does not certify.
    func requestedSubject(
        _ wanted: DistinguishedName, for names: [GeneralName], isAskedFor: Bool
    ) throws -> DistinguishedName

    /// Makes the certificate.
    ///
    /// - Throws: `KeychainError`; `issuerFailed` if the issuer does not issue a certificate.
    func issue(_ order: CertificateOrder) throws -> IssuedCertificate

    /// When a certificate should be renewed; `nil`, unless a type implements it, for an issuer that never says.
    ///
    /// - Throws: `KeychainError`; `issuerFailed` if the issuer does not answer.
    func renewalSuggestion(for certificate: Certificate) throws -> RenewalSuggestion?
}

extension CertificateIssuer {
    /// The wanted subject.
    public func requestedSubject(
        _ wanted: DistinguishedName, for names: [GeneralName], isAskedFor: Bool
    ) throws -> DistinguishedName { wanted }

    /// No suggestion.
    public func renewalSuggestion(for certificate: Certificate) throws -> RenewalSuggestion? { nil }
}

/// A request to an issuer.
public struct CertificateOrder: Sendable {
    /// The request, signed with the key to be certified.
    public let request: CertificationRequest
    /// That key, for self-signed certificates.
    public let key: TokenKey
    /// The lifetime in seconds; `nil` leaves it to the issuer.
    public let lifetime: TimeInterval?
    /// The certificate that the new one replaces; `nil` for the first one of an identity.
    public let replaced: Certificate?
    /// Reports a finished step, such as `order ok`, to a waiting user.
    public let report: @Sendable (String) -> Void
    /// Whether to give up, with an error of code `cancelled`, because the caller is no longer waiting.
    public internal(set) var isStopped: @Sendable () -> Bool = { false }
    /// The name of the identity that the certificate is for.
    let name: String
    /// Whether the key was made for this certificate.
    let isKeyNew: Bool
}

/// A certificate from an issuer.
public struct IssuedCertificate: Sendable {
    /// The certificate.
    public let certificate: Certificate
    /// Certificates above it, in any order.
    public let chain: [Certificate]

    /// Creates an issued certificate with its chain.
    public init(certificate: Certificate, chain: [Certificate]) {
        self.certificate = certificate
        self.chain = chain
    }

    /// Selects the certificate for a request from those of an issuer, with the others as its chain.
    ///
    /// - Throws: `KeychainError` with code `issuerFailed` if none of them is for the request's key.
    package init(_ certificates: [Certificate], for request: CertificationRequest, by issuer: String) throws {
        // If the key is reused, the previous certificate may be among them.
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
    /// Runs `body` and maps its errors: contents that cannot be encoded in a request or certificate are an invalid
    /// argument.
    static func describingRequests<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as CryptoError {
            throw KeychainError(
                error.code == .unsupportedKey ? .mechanismUnsupported : .invalidArgument,
                "this certificate cannot be made: \(error.detail).", cause: error)
        }
    }
}
