public import Foundation
import OpenSSL

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
        let request = order.request
        let unsigned = try Self.unsigned(
            request.subject, request.publicKey, request.extensions, lifetime: order.lifetime)
        let certificate = try order.key.checkingSignature { try unsigned.signed { try order.key.sign($0, using: $1) } }
        return IssuedCertificate(certificate: certificate, chain: [])
    }

    /// What the key would sign. - Throws: `KeychainError` with code `invalidArgument` for what cannot be written.
    static func unsigned(
        _ subject: DistinguishedName, _ publicKey: PublicKey, _ extensions: CertificateExtensions,
        lifetime: TimeInterval?
    ) throws -> UnsignedCertificate {
        let now = Date()
        return try KeychainError.describingRequests {
            try UnsignedCertificate(
                subject: self.subject(subject, extensions), publicKey: publicKey, extensions: extensions, issuer: nil,
                notBefore: now - AuthorityIssuer.clockTolerance, notAfter: now + (lifetime ?? standardLifetime))
        }
    }

    /// The subject of a request; where it is empty, its first name that fits.
    ///
    /// The subject is the issuer here, which may not be empty (RFC 5280 4.1.2.4): Java refuses such a certificate, and
    /// with it the whole token.
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
