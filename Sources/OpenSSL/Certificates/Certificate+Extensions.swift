public import Foundation
import KeyfobPrimitives

// A malformed extension reads as an absent one here; `verify` of a chain refuses the certificate.
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

    /// The e-mail addresses, of the alternative names first, then of the subject, each once.
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

    /// What the key may be used for; `nil` without the extension, which allows everything.
    public var keyUsage: KeyUsage? {
        fields.value(.keyUsage, tag: DERTag.bitString) { try KeyUsage(element: $0) }
    }

    /// The extended purposes; empty without the extension, which allows everything.
    public var extendedKeyUsage: [ExtendedKeyUsage] {
        guard fields.has(.extendedKeyUsage) else { return [] }
        let usages = fields.value(.extendedKeyUsage, tag: DERTag.sequence) { element in
            try element.children().map { ExtendedKeyUsage(rawValue: try $0.objectIdentifier().rawValue) }
        } ?? []
        // Nothing, to everybody who asks, is every usage: what cannot be read must not become that.
        return usages.isEmpty ? [ExtendedKeyUsage(rawValue: "")] : usages
    }

    /// Whether the basic constraints make it a certificate authority.
    public var isCA: Bool {
        fields.value(.basicConstraints, tag: DERTag.sequence) { element in
            try element.children().first.map { $0.tag == DERTag.boolean && $0.content.first == 0xFF }
        } ?? false
    }

    /// How many authorities may stand below it; `nil` without a limit.
    public var pathLength: Int? {
        fields.value(.basicConstraints, tag: DERTag.sequence) { element in
            try element.children().first { $0.tag == DERTag.integer }?.smallInteger()
        }
    }

    /// The URLs at which the issuer's certificate can be fetched (RFC 5280 4.2.2.1).
    public var issuerLocations: [String] {
        // 1.3.6.1.5.5.7.1.1, authority information access, and 1.3.6.1.5.5.7.48.2, where the issuer is.
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

    /// The object identifiers of all extensions that are critical.
    public var criticalExtensions: [OID] {
        fields.extensions.filter(\.isCritical).compactMap { OID(content: $0.oid) }.sorted { $0.rawValue < $1.rawValue }
    }

    /// What to call it, as Apple's SecCertificateCopySubjectSummary does; `nil` when there is nothing.
    ///
    /// The common names of the subject, the last one first, and descriptions behind them in parentheses. Without a
    /// common name the first e-mail address, else the first host name, else the units, the organisations, or whatever
    /// the subject has. Values that are empty or blank do not count.
    public var subjectSummary: String? {
        // The most specific type that there is, and all values of it: from the end, for the last come first.
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
