import Foundation
import OpenSSL

/// What a search demands of the certificate itself. Made once for a search: names are normalised here, not per item.
struct CertificateFilter {
    private let criteria: Criteria
    private let subjectOptions: String.CompareOptions
    private let emailAddress: String?
    private let issuers: Set<Data>
    /// By the name of an authority, the names of those that issued its certificates: it may have several.
    private let authorities: [Data: [Data]]

    /// The filter of a search, or `nil` for one that does not look at certificates.
    ///
    /// - Parameter authorities: Certificates among which authorities above a certificate are looked for; walked only
    ///   where an issuer is asked for.
    init?(_ criteria: Criteria, authorities: some Sequence<Certificate>) {
        guard criteria.needsCertificate else { return nil }
        self.criteria = criteria
        var options: String.CompareOptions = []
        if criteria.ignoresCase { options.insert(.caseInsensitive) }
        if criteria.ignoresWidth { options.insert(.widthInsensitive) }
        // A letter with its mark and one that is composed of both differ in bytes: they are told apart unless marks
        // do not count.
        options.insert(criteria.ignoresDiacritics ? .diacriticInsensitive : .literal)
        subjectOptions = options
        emailAddress = criteria.emailAddress?.lowercased()
        // A complete DER name, or its normalised content; what is neither is nobody's.
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

    /// Whether a certificate is one that is asked for.
    ///
    /// - Throws: What the search's own test throws.
    func matches(_ certificate: Certificate) throws -> Bool {
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
            // Nothing is found in a search for an empty text, and everything has one.
            guard let text, !text.isEmpty else { return true }
            return name.range(of: text, options: subjectOptions.union(options)) != nil
        }
        if let whole = criteria.subjectIs, name.compare(whole, options: subjectOptions) != .orderedSame { return false }
        return has(criteria.subjectContains) && has(criteria.subjectStartsWith, .anchored)
            && has(criteria.subjectEndsWith, [.anchored, .backwards])
    }

    /// Whether one of the names stands above a certificate: as its issuer, or as that of an authority on the way up.
    private func isIssued(_ certificate: Certificate) -> Bool {
        var above: Set = [certificate.issuer.canonical]
        var seen: Set<Data> = []
        // As deep as Apple looks.
        for _ in 0...10 {
            guard above.isDisjoint(with: issuers) else { return true }
            seen.formUnion(above)
            above = Set(above.flatMap { authorities[$0] ?? [] }).subtracting(seen)
            if above.isEmpty { return false }
        }
        return false
    }
}
