public import Foundation
public import OpenSSL

/// Somebody who makes a certificate of a request.
///
/// Implementation guidance: `issue` blocks for as long as the issuer takes, and is called on a thread that may block.
/// While it waits it asks the order whether it `isStopped`. It changes nothing in the keychain: what it returns is
/// checked against the key and installed by the caller.
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
    /// Whether to give up, with an error of code `cancelled`: nobody waits for the certificate any more.
    public internal(set) var isStopped: @Sendable () -> Bool = { false }
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
    /// The error of what was asked to stop, and has done so.
    package static let stopped = KeychainError(.cancelled, "stopped.")

    /// Runs `body`; what cannot be written into a request or certificate is an argument's fault.
    static func describingRequests<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as CryptoError {
            throw KeychainError(
                error.code == .unsupportedKey ? .mechanismUnsupported : .invalidArgument,
                "this certificate cannot be made: \(error.detail).", cause: error)
        }
    }
}
