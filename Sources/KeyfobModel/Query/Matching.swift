import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
package import KeyfobSystem

/// The definition of a match.
extension Criteria {
    /// The criteria with attributes in stored form, after a check that the conditions fit the class.
    ///
    /// - Throws: `KeychainError` with code `noSuchAttribute` or `invalidArgument`.
    package func normalized() throws(KeychainError) -> Criteria {
        var criteria = self
        criteria.attributes = try ClassSchema.of(itemClass).coerce(attributes)
        if services == nil, itemClass.livesOnToken { criteria.attributes = criteria.attributes.withTextLabel }
        if let limit, limit < 0 {
            throw KeychainError(.invalidArgument, "a limit of \(limit) items makes no sense.")
        }
        if needsCertificate {
            guard itemClass == .certificate || itemClass == .identity else {
                throw KeychainError(
                    .invalidArgument,
                    "only certificates and identities can be searched by subject, issuer, date or host.")
            }
        }
        guard serverDomain == nil || itemClass == .internetPassword else {
            throw KeychainError(.invalidArgument, "only internet passwords can be searched by domain.")
        }
        return criteria
    }

    /// Whether the certificate itself must be examined.
    package var needsCertificate: Bool {
        needsSubject || !issuers.isEmpty || validOn != nil || hostName != nil || emailAddress != nil
            || certificateTest != nil
    }

    /// Whether the certificate's common name must be examined.
    package var needsSubject: Bool {
        subjectContains != nil || subjectStartsWith != nil || subjectEndsWith != nil || subjectIs != nil
    }

    /// Whether an item's attributes match. An absent and an empty attribute of the primary key are equal.
    package func matches(_ candidate: ItemAttributes) -> Bool {
        if !includesSynchronizable, attributes[.synchronizable] == nil,
            (candidate[.synchronizable]?.number ?? 0) != 0
        { return false }
        if attributes[.tombstone] == nil, (candidate[.tombstone]?.number ?? 0) != 0 { return false }
        if let services {
            let isTheirs = candidate[.multiUser].map { $0.matches(.data(services.user)) } ?? services.user.isEmpty
            guard isTheirs else { return false }
        }
        if accessGroups != nil || services?.program != nil {
            let group = (candidate[.accessGroup] ?? services?.defaults[.accessGroup])?.text ?? ""
            guard accessGroups?.contains(where: { $0.isIdentical(to: group) }) ?? true else { return false }
            if let program = services?.program, group.isEmpty {
                guard candidate[.program]?.text?.isIdentical(to: program) ?? false else { return false }
            }
        }
        if let serverDomain {
            // In Apple's keychain, a server given as bytes is not a name.
            if services != nil, case .data? = candidate[.server] { return false }
            guard let server = candidate[.server]?.text, Self.isHost(server, in: serverDomain) else { return false }
        }
        return attributes.match(candidate) { name in
            services?.defaults[name] ?? ClassSchema.of(itemClass).emptyValue(ofPrimaryKey: name)
        }
    }

    /// Whether a host has a name or is in its domain; compared by bytes.
    private static func isHost(_ host: String, in domain: String) -> Bool {
        let (host, domain) = (Array(host.utf8), Array(domain.utf8))
        return host == domain || host.reversed().starts(with: ([UInt8(ascii: ".")] + domain).reversed())
    }

    /// Sorts items in the order of the criteria and applies the limit.
    package func arranged(_ items: [Item]) -> [Item] {
        var items = items
        switch order {
        case .created: break
        case .label:
            let labelled = items.map { ($0, $0.attributes[.label]?.labelBytes) }
            items = labelled.sorted { Self.precedes($0.1, $1.1) }.map(\.0)
        case .modified:
            let dated = items.map { ($0, $0.attributes[.modificationDate]?.date ?? .distantPast) }
            items = dated.sorted { $0.1 > $1.1 }.map(\.0)
        case .expires:
            let dated = items.map { ($0, expiry($0) ?? .distantFuture) }
            items = dated.sorted { $0.1 < $1.1 }.map(\.0)
        }
        guard let limit, items.count > limit else { return items }
        return Array(items.prefix(limit))
    }

    private func expiry(_ item: Item) -> Date? {
        guard item.certificateDER != nil else { return nil }
        // Data that is not a certificate does not expire.
        return (try? item.certificate)?.notAfter
    }

    private static func precedes(_ left: Data?, _ right: Data?) -> Bool {
        guard let left else { return false }
        guard let right else { return true }
        return left.lexicographicallyPrecedes(right)
    }
}
