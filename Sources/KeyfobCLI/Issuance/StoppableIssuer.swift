import Keyfob
import KeyfobACME
import KeyfobOpenSSL

/// An ACME issuer that stops at a signal, after it has removed its challenge responses.
///
/// Otherwise the file below the document root or the DNS record would stay forever.
struct StoppableIssuer: CertificateIssuer {
    private let issuer: ACMEIssuer

    /// Wraps an issuer.
    ///
    /// - Parameter issuer: An issuer that checks `Interruption.isRequested`.
    init(_ issuer: ACMEIssuer) { self.issuer = issuer }

    var issuerDescription: IssuerDescription { issuer.issuerDescription }

    func requestedSubject(
        _ wanted: DistinguishedName, for names: [GeneralName], isAskedFor: Bool
    ) throws -> DistinguishedName {
        try issuer.requestedSubject(wanted, for: names, isAskedFor: isAskedFor)
    }

    func issue(_ order: CertificateOrder) throws -> IssuedCertificate {
        // After a signal the result is discarded: an interrupted program fails with its own error. If a certificate was
        // issued nevertheless, the next attempt fetches it.
        let result = Interruption.deferring { Result { try issuer.issue(order) } }
        guard !Interruption.isRequested else { throw KeychainError.stopped }
        return try result.get()
    }
}
