import Foundation
import OpenSSL

/// The one definition of "matches".
extension Criteria {
    /// The attributes in the form in which items keep them, and the filter for synchronizable items.
    ///
    /// - Throws: `KeychainError` with code `noSuchAttribute` or `invalidArgument`.
    func normalized() throws(KeychainError) -> Criteria {
        var criteria = self
        criteria.attributes = try ClassSchema.of(itemClass).coerce(attributes)
        if let limit, limit < 0 {
            throw KeychainError(.invalidArgument, "a limit of \(limit) items makes no sense.")
        }
        if subjectContains != nil || issuer != nil || validOn != nil || hostName != nil {
            guard itemClass == .certificate || itemClass == .identity else {
                throw KeychainError(
                    .invalidArgument, "only certificates and identities can be searched by subject, issuer, date or host.")
            }
        }
        return criteria
    }

    /// Whether an item's attributes are those that are asked for. Absent and empty are the same in the primary key.
    func matches(_ candidate: ItemAttributes) -> Bool {
        if !includesSynchronizable, attributes[.synchronizable] == nil,
            (candidate[.synchronizable]?.number ?? 0) != 0
        { return false }
        if attributes[.tombstone] == nil, (candidate[.tombstone]?.number ?? 0) != 0 { return false }
        if let accessGroups, !accessGroups.contains(candidate[.accessGroup]?.text ?? "") { return false }
        return attributes.allSatisfy { name, value in
            if let found = candidate[name] { return found.matches(value) }
            guard let definition = ClassSchema.of(itemClass)[name], definition.isPrimaryKey else { return false }
            return ClassSchema.emptyValue(of: definition.kind).matches(value)
        }
    }

    /// Whether a certificate is one that is asked for.
    ///
    /// - Parameter issuers: Certificates among which authorities above the certificate are looked for.
    func matches(_ certificate: Certificate, issuers: () throws -> [Certificate]) throws -> Bool {
        if let subjectContains {
            guard let name = certificate.subject.commonName ?? certificate.subjectSummary else { return false }
            let options: String.CompareOptions = ignoresCase ? [.caseInsensitive, .literal] : .literal
            guard subjectContains.isEmpty || name.range(of: subjectContains, options: options) != nil else { return false }
        }
        if let validOn, !certificate.isValid(on: validOn) { return false }
        if let hostName, !certificate.matches(host: hostName) { return false }
        if let issuer {
            // A complete DER name is normalised; anything else is taken as normalised content already.
            let name = (try? DistinguishedName(der: issuer))?.normalized ?? issuer
            return try isIssued(certificate, by: name, issuers: issuers)
        }
        return true
    }

    /// Whether a name stands above a certificate: as its issuer, or as that of an authority on the way up.
    private func isIssued(_ certificate: Certificate, by name: Data, issuers: () throws -> [Certificate]) throws -> Bool {
        if certificate.issuer.normalized == name { return true }
        let known = try issuers()
        var current = certificate
        // As deep as Apple looks; also ends at certificates that issued each other.
        for _ in 0..<10 {
            let above = known.first { $0.subject.normalized == current.issuer.normalized && $0 != current }
            guard let above else { return false }
            if above.issuer.normalized == name { return true }
            current = above
        }
        return false
    }

    /// Puts items in the order that is asked for and applies the limit.
    func arranged(_ items: [Item]) -> [Item] {
        var items = items
        switch order {
        case .created: break
        case .label: items.sort { Self.precedes($0.attributes[.label]?.bytes, $1.attributes[.label]?.bytes) }
        case .modified:
            items.sort {
                ($0.attributes[.modificationDate]?.date ?? .distantPast) > ($1.attributes[.modificationDate]?.date ?? .distantPast)
            }
        case .expires:
            let dated = items.map { ($0, expiry($0) ?? .distantFuture) }
            items = dated.sorted { $0.1 < $1.1 }.map(\.0)
        }
        guard let limit, items.count > limit else { return items }
        return Array(items.prefix(limit))
    }

    private func expiry(_ item: Item) -> Date? {
        // What is not a certificate does not expire.
        item.certificateDER.flatMap { (try? Certificate(der: $0))?.notAfter }
    }

    private static func precedes(_ left: Data?, _ right: Data?) -> Bool {
        guard let left else { return false }
        guard let right else { return true }
        return left.lexicographicallyPrecedes(right)
    }
}
