import Keyfob

/// An ACME server that is not asked any more when a signal comes: what answers its challenges is taken back, and then
/// the command ends.
///
/// The file below the document root and the record in the name system would stay for ever otherwise.
struct StoppableIssuer: CertificateIssuer {
    private let issuer: ACMEIssuer

    /// - Parameter issuer: One that looks at `Interruption.isRequested`.
    init(_ issuer: ACMEIssuer) { self.issuer = issuer }

    var issuerDescription: IssuerDescription { issuer.issuerDescription }

    func issue(_ order: CertificateOrder) throws -> IssuedCertificate {
        // A program that a signal has ended fails in its own words, and a certificate that has come nevertheless is
        // fetched by the next attempt.
        let result = Interruption.deferring { Result { try issuer.issue(order) } }
        guard !Interruption.isRequested else { throw KeychainError.stopped }
        return try result.get()
    }
}
