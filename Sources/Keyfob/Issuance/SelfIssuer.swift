public import Foundation
import KeyfobOpenSSL

/// An issuer of self-signed certificates.
public struct SelfIssuer: CertificateIssuer {
    /// The lifetime of certificates unless the order has another: 90 days, in seconds.
    public static let standardLifetime: TimeInterval = 90 * 86_400

    /// The lifetime of the certificate of a root authority unless the order has another: 10 years, in seconds.
    public static let standardRootLifetime: TimeInterval = 10 * 365 * 86_400

    /// Creates an issuer of self-signed certificates.
    public init() {}

    /// The identity's own key.
    public var issuerDescription: IssuerDescription { .itself }

    /// Makes a self-signed certificate. Uses one token operation.
    ///
    /// - Throws: `KeychainError`; `invalidArgument` for a request that cannot be fulfilled, and the errors of the
    ///   token.
    public func issue(_ order: CertificateOrder) throws -> IssuedCertificate {
        let request = order.request
        let unsigned = try Self.unsigned(
            request.subject, request.publicKey, request.extensions, lifetime: order.lifetime)
        let certificate = try order.key.checkingSignature { try unsigned.signed { try order.key.sign($0, using: $1) } }
        return IssuedCertificate(certificate: certificate, chain: [])
    }

    /// The unsigned certificate.
    ///
    /// - Throws: `KeychainError` with code `invalidArgument` for contents that cannot be encoded.
    static func unsigned(
        _ subject: DistinguishedName, _ publicKey: PublicKey, _ extensions: CertificateExtensions,
        lifetime: TimeInterval?
    ) throws -> UnsignedCertificate {
        let now = Date()
        let isRoot = extensions.basicConstraints?.isAuthority ?? false
        let standard = isRoot ? standardRootLifetime : standardLifetime
        return try KeychainError.describingRequests {
            try UnsignedCertificate(
                subject: self.subject(subject, extensions), publicKey: publicKey, extensions: extensions, issuer: nil,
                notBefore: now - AuthorityIssuer.clockTolerance, notAfter: now + (lifetime ?? standard))
        }
    }

    /// The subject of a request; if empty, the first name that fits.
    ///
    /// The subject is also the issuer here, which must not be empty (RFC 5280 4.1.2.4). Java refuses such a
    /// certificate, and the whole token with it.
    private static func subject(
        _ subject: DistinguishedName, _ extensions: CertificateExtensions
    ) throws -> DistinguishedName {
        guard subject.isEmpty else { return subject }
        let names = extensions.subjectAlternativeNames.compactMap { name -> String? in
            switch name {
            case .dns(let text), .email(let text), .uri(let text): text
            default: name.ipText
            }
        }
        // RFC 5280 A.1: ub-common-name.
        return try DistinguishedName(commonName: names.first { $0.count <= 64 } ?? "self-signed")
    }
}
