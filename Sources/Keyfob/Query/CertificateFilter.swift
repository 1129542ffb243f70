import Foundation
import OpenSSL

/// What a search demands of the certificate itself. Made once for a search: names are normalised here, not per item.
struct CertificateFilter {
    private let subjectContains: String?
    private let subjectOptions: String.CompareOptions
    private let validOn: Date?
    private let hostName: String?
    private let issuer: Data?
    private let authorities: [Data: [Authority]]

    private struct Authority {
        let certificate: Certificate
        let issuer: Data
    }

    /// The filter of a search, or `nil` for one that does not look at certificates.
    ///
    /// - Parameter authorities: Certificates among which authorities above a certificate are looked for; walked only
    ///   where an issuer is asked for.
    init?(_ criteria: Criteria, authorities: some Sequence<Certificate>) {
        guard criteria.needsCertificate else { return nil }
        subjectContains = criteria.subjectContains
        subjectOptions = criteria.ignoresCase ? [.caseInsensitive, .literal] : .literal
        validOn = criteria.validOn
        hostName = criteria.hostName
        guard let name = criteria.issuer else {
            issuer = nil
            self.authorities = [:]
            return
        }
        // A complete DER name is normalised; anything else is taken as normalised content already.
        issuer = (try? DistinguishedName(der: name))?.normalized ?? name
        self.authorities = Dictionary(
            authorities.map { ($0.subject.normalized, [Authority(certificate: $0, issuer: $0.issuer.normalized)]) },
            uniquingKeysWith: +)
    }

    /// Whether a certificate is one that is asked for.
    func matches(_ certificate: Certificate) -> Bool {
        if let subjectContains {
            guard let name = certificate.subject.commonName ?? certificate.subjectSummary else { return false }
            guard subjectContains.isEmpty || name.range(of: subjectContains, options: subjectOptions) != nil else {
                return false
            }
        }
        if let validOn, !certificate.isValid(on: validOn) { return false }
        if let hostName, !certificate.matches(host: hostName) { return false }
        guard let issuer else { return true }
        return isIssued(certificate, by: issuer)
    }

    /// Whether a name stands above a certificate: as its issuer, or as that of an authority on the way up.
    private func isIssued(_ certificate: Certificate, by name: Data) -> Bool {
        var current = Authority(certificate: certificate, issuer: certificate.issuer.normalized)
        if current.issuer == name { return true }
        // As deep as Apple looks; also ends at certificates that issued each other.
        for _ in 0..<10 {
            let known = authorities[current.issuer] ?? []
            guard let above = known.first(where: { $0.certificate != current.certificate }) else { return false }
            if above.issuer == name { return true }
            current = above
        }
        return false
    }
}
