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
        let now = Date()
        let unsigned = try KeychainError.describingRequests {
            try UnsignedCertificate(
                subject: Self.subject(of: order.request), publicKey: order.request.publicKey,
                extensions: order.request.extensions, issuer: nil, notBefore: now - AuthorityIssuer.clockTolerance,
                notAfter: now + (order.lifetime ?? Self.standardLifetime))
        }
        let certificate = try order.key.checkingSignature { try unsigned.signed { try order.key.sign($0, using: $1) } }
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
