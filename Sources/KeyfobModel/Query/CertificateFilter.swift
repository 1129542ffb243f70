import Foundation
package import KeyfobOpenSSL

/// The conditions of a search on the certificate itself. Created once per search, so that names are not normalized per
/// item.
package struct CertificateFilter {
    private let criteria: Criteria
    private let subjectOptions: String.CompareOptions
    private let emailAddress: String?
    private let issuers: Set<Data>
    /// The issuer names of each authority, by its own name. An authority may have several certificates.
    private let authorities: [Data: [Data]]

    /// Creates the filter of a search; fails if the search has no condition on certificates.
    ///
    /// - Parameter authorities: Certificates among which the authorities above a certificate are found; used only if
    ///   the search names an issuer.
    package init?(_ criteria: Criteria, authorities: some Sequence<Certificate>) {
        guard criteria.needsCertificate else { return nil }
        self.criteria = criteria
        var options: String.CompareOptions = []
        if criteria.ignoresCase { options.insert(.caseInsensitive) }
        if criteria.ignoresWidth { options.insert(.widthInsensitive) }
        // A precomposed and a decomposed letter differ in bytes; they are distinct unless diacritics are ignored.
        options.insert(criteria.ignoresDiacritics ? .diacriticInsensitive : .literal)
        subjectOptions = options
        emailAddress = criteria.emailAddress?.lowercased()
        // A complete DER name, or its normalized content; any other value matches no issuer.
        issuers = Set(
            criteria.issuers.map {
                (try? DistinguishedName(der: $0))?.canonical ?? DistinguishedName.canonical(ofNormalized: $0) ?? $0
            })
        guard !issuers.isEmpty else {
            self.authorities = [:]
            return
        }
        self.authorities = Dictionary(
            authorities.map { ($0.subject.canonical, [$0.issuer.canonical]) },
            uniquingKeysWith: +)
    }

    /// Whether a certificate fulfils the conditions.
    ///
    /// - Throws: The errors of the search's own test.
    package func matches(_ certificate: Certificate) throws -> Bool {
        if criteria.needsSubject {
            guard let name = certificate.subject.commonName ?? certificate.subjectSummary, isSubject(name) else {
                return false
            }
        }
        if let emailAddress {
            guard certificate.emailAddresses.contains(where: { $0.lowercased() == emailAddress }) else { return false }
        }
        if let date = criteria.validOn, !certificate.isValid(on: date) { return false }
        if let host = criteria.hostName, !certificate.matches(host: host) { return false }
        if !issuers.isEmpty, !isIssued(certificate) { return false }
        return try criteria.certificateTest?(certificate) ?? true
    }

    private func isSubject(_ name: String) -> Bool {
        func has(_ text: String?, _ options: String.CompareOptions = []) -> Bool {
            // `range(of:)` finds no empty text, but every name contains it.
            guard let text, !text.isEmpty else { return true }
            return name.range(of: text, options: subjectOptions.union(options)) != nil
        }
        if let whole = criteria.subjectIs, name.compare(whole, options: subjectOptions) != .orderedSame { return false }
        return has(criteria.subjectContains) && has(criteria.subjectStartsWith, .anchored)
            && has(criteria.subjectEndsWith, [.anchored, .backwards])
    }

    /// Whether one of the issuers is above a certificate, directly or through authorities.
    private func isIssued(_ certificate: Certificate) -> Bool {
        var above: Set = [certificate.issuer.canonical]
        var seen: Set<Data> = []
        // The same depth as in Apple's implementation.
        for _ in 0...10 {
            guard above.isDisjoint(with: issuers) else { return true }
            seen.formUnion(above)
            above = Set(above.flatMap { authorities[$0] ?? [] }).subtracting(seen)
            if above.isEmpty { return false }
        }
        return false
    }
}
