package import KeyfobOpenSSL

/// The names and usages that a certificate is to have, as users write them.
package struct CertificateContents: Sendable, Hashable {
    /// The common name; excludes `subject`.
    package var commonName: String?
    /// The whole subject, such as `CN=web,O=Example`.
    package var subject: String?
    package var hosts: [String] = []
    package var addresses: [String] = []
    package var emails: [String] = []
    package var uris: [String] = []
    /// Other names: an object identifier and text.
    package var others: [OtherName] = []
    /// The usages; empty for a server.
    package var usages: [CertificateUsage] = []
    package var isAuthority = false
    package var pathLength: Int?

    /// A name of a type that an object identifier identifies.
    package struct OtherName: Sendable, Hashable {
        package var type: String
        package var text: String

        package init(type: String, text: String) {
            self.type = type
            self.text = text
        }
    }

    package init() {}

    /// Whether no name is given.
    package var isEmpty: Bool {
        commonName == nil && subject == nil && hosts.isEmpty && addresses.isEmpty && emails.isEmpty && uris.isEmpty
            && others.isEmpty
    }

    /// The subject, or an empty name.
    ///
    /// - Throws: `CryptoError` for a name that cannot be encoded.
    package func name() throws -> DistinguishedName {
        if let subject { return try DistinguishedName(parsing: subject) }
        return try commonName.map { try DistinguishedName(commonName: $0) } ?? .empty
    }

    /// The extensions for a key of the given algorithm.
    ///
    /// - Throws: `CryptoError` for a name that cannot be encoded.
    package func extensions(for key: KeyAlgorithm) throws -> CertificateExtensions {
        var names = hosts.map { GeneralName.dns(Self.ascii($0)) } + addresses.compactMap { GeneralName(ipAddress: $0) }
        names += emails.map { .email(Self.asciiAddress($0)) } + uris.map { .uri($0) }
        names += try others.map { try .otherName(OID(rawValue: $0.type), text: $0.text) }
        guard !isAuthority else {
            var extensions = CertificateExtensions.authority(pathLength: pathLength)
            extensions.subjectAlternativeNames = names
            return extensions
        }
        let usages = usages.isEmpty ? [CertificateUsage.server] : usages
        // Clients check only the alternative names, so a server's common name is added there.
        if hosts.isEmpty, addresses.isEmpty, usages.contains(.server),
            let host = try name().commonName.flatMap(GeneralName.init(host:))
        {
            names.insert(host, at: 0)
        }
        let purposes = usages.contains(.any) ? [] : usages.compactMap(\.extendedKeyUsage)
        return .endEntity(names, purposes, key: key)
    }

    /// The host name in the ASCII form that certificates use. ASCII names are unchanged.
    private static func ascii(_ host: String) -> String {
        host.utf8.allSatisfy { $0 < 0x80 } ? host : Certificate.asciiName(ofHost: host)
    }

    private static func asciiAddress(_ address: String) -> String {
        guard let at = address.lastIndex(of: "@") else { return address }
        return String(address[...at]) + ascii(String(address[address.index(after: at)...]))
    }
}
