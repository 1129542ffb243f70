public import Foundation
import KeyfobPrimitives

// A malformed extension counts as absent here; verifying a chain rejects the certificate.
extension Certificate {
    /// The alternative names, in the certificate's order.
    public var subjectAlternativeNames: [GeneralName] {
        fields.value(.subjectAlternativeName, tag: DERTag.sequence) {
            try $0.children().map(GeneralName.init(element:))
        } ?? []
    }

    /// The host names among the alternative names.
    public var dnsNames: [String] {
        subjectAlternativeNames.compactMap { name in
            guard case .dns(let text) = name else { return nil }
            return text
        }
    }

    /// The e-mail addresses in the alternative names and then in the subject, without duplicates.
    public var emailAddresses: [String] {
        var found = subjectAlternativeNames.compactMap { name -> String? in
            guard case .email(let text) = name else { return nil }
            return text
        }
        var known = Set(found)
        for attribute in subject.attributes
        where attribute.type.rawValue == "1.2.840.113549.1.9.1" && known.insert(attribute.value).inserted {
            found.append(attribute.value)
        }
        return found
    }

    /// The subject key identifier extension.
    public var subjectKeyIdentifier: Data? {
        fields.value(.subjectKeyIdentifier, tag: DERTag.octetString) { Data($0.content) }
    }

    /// The key identifier in the authority key identifier extension.
    public var authorityKeyIdentifier: Data? {
        fields.value(.authorityKeyIdentifier, tag: DERTag.sequence) { element in
            try element.children().first { $0.tag == 0x80 }.map { Data($0.content) }
        }
    }

    /// The usages of the key; `nil` without the extension, which allows all.
    public var keyUsage: KeyUsage? {
        fields.value(.keyUsage, tag: DERTag.bitString) { try KeyUsage(element: $0) }
    }

    /// The extended purposes; empty without the extension, which allows all.
    public var extendedKeyUsage: [ExtendedKeyUsage] {
        guard fields.has(.extendedKeyUsage) else { return [] }
        let usages = fields.value(.extendedKeyUsage, tag: DERTag.sequence) { element in
            try element.children().map { ExtendedKeyUsage(rawValue: try $0.objectIdentifier().rawValue) }
        } ?? []
        // Callers treat an empty list as any usage, so an unreadable extension must not become empty.
        return usages.isEmpty ? [ExtendedKeyUsage(rawValue: "")] : usages
    }

    /// Whether the basic constraints make it a certificate authority.
    public var isCA: Bool {
        fields.value(.basicConstraints, tag: DERTag.sequence) { element in
            try element.children().first.map { $0.tag == DERTag.boolean && $0.content.first == 0xFF }
        } ?? false
    }

    /// How many authorities may follow below it; `nil` for no limit.
    public var pathLength: Int? {
        fields.value(.basicConstraints, tag: DERTag.sequence) { element in
            try element.children().first { $0.tag == DERTag.integer }?.smallInteger()
        }
    }

    /// The URLs of the issuer's certificate (RFC 5280 section 4.2.2.1).
    public var issuerLocations: [String] {
        // 1.3.6.1.5.5.7.1.1 is authority information access, 1.3.6.1.5.5.7.48.2 the location of the issuer.
        let entry = fields.extensions.first { $0.oid.elementsEqual([0x2B, 6, 1, 5, 5, 7, 1, 1]) }
        guard let entry else { return [] }
        do {
            return try DERReader.single(entry.value, tag: DERTag.sequence).children().compactMap { access in
                let parts = try access.children()
                guard parts.count == 2, parts[0].content.elementsEqual([0x2B, 6, 1, 5, 5, 7, 0x30, 2]),
                    case .uri(let url) = GeneralName(element: parts[1])
                else { return nil }
                return url
            }
        } catch {
            return []
        }
    }

    /// The object identifiers of all critical extensions.
    public var criticalExtensions: [OID] {
        fields.extensions.filter(\.isCritical).compactMap { OID(content: $0.oid) }.sorted { $0.rawValue < $1.rawValue }
    }

    /// A display name, as Apple's SecCertificateCopySubjectSummary returns it; `nil` if there is none.
    ///
    /// The common names of the subject, the last one first, and descriptions behind them in parentheses. Without a
    /// common name the first e-mail address, else the first host name, else the units, the organisations, or whatever
    /// the subject has. Values that are empty or blank do not count.
    public var subjectSummary: String? {
        // Collects all values of the most specific type present, from the end because the last one comes first.
        let types = ["2.5.4.10", "2.5.4.11", "2.5.4.3"]
        var rank = -1
        var values: [String] = []
        var descriptions: [String] = []
        for attribute in subject.attributes.reversed() where !attribute.value.isBlank {
            let own = types.firstIndex(of: attribute.type.rawValue) ?? -1
            if attribute.type.rawValue == "2.5.4.13" { descriptions.append(attribute.value) }
            if own > rank { (rank, values) = (own, []) }
            if own == rank { values.append(attribute.value) }
        }
        let summary = values.isEmpty ? nil : values.joined(separator: ", ")
        guard rank == types.count - 1 else {
            return (emailAddresses + dnsNames).first { !$0.isBlank } ?? summary
        }
        return descriptions.isEmpty ? summary : summary.map { "\($0) (\(descriptions.joined(separator: ", ")))" }
    }
}
