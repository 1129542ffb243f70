package import Keyfob
package import KeyfobOpenSSL

/// An identity of a manifest.
package struct IdentityEntry: Sendable {
    package let name: String
    package let position: Position
    package let contents: CertificateContents
    package let key: KeySpecification
    /// Whether the manifest says what the key is.
    package let hasKey: Bool
    /// Whether a new certificate gets a new key; `nil` if the manifest does not say.
    package let renewsKey: Bool?
    /// The lifetime of the certificates in seconds.
    package let lifetime: Double?
    /// When a renewal is due, if the manifest says so.
    package let renewalTime: RenewalTime?
    package let formerName: String?
    /// Whether no removal removes the identity.
    package let isProtected: Bool
    /// The files that the key and the certificates come from.
    package let source: ImportEntry?
    /// The issuer as the manifest names it.
    package let issuerName: Positioned<String>?
    /// The issuer; `nil` for an identity that must exist already.
    package internal(set) var issuer: IssuerDescription?
    package let outputs: [OutputEntry]
    package let hooks: [HookEntry]

    init(_ record: Record, _ defaults: ManifestDefaults, _ problems: inout [ManifestProblem]) {
        name = record.text("name") ?? ""
        position = record.position
        var contents = CertificateContents()
        contents.commonName = record.text("commonName")
        contents.subject = record.text("subject")
        contents.hosts = record.texts("dnsNames")
        contents.addresses = record.texts("ips")
        contents.emails = record.texts("emails")
        contents.uris = record.texts("uris")
        contents.usages = record.texts("usages").map { CertificateUsage(rawValue: $0) }
        contents.isAuthority = record.flag("authority")
        contents.pathLength = record.integer("pathLength")
        self.contents = contents
        let own = record.record("key")
        let kind = defaults.kind(own)
        key = KeyEntry.specification(kind, &problems)
        hasKey = kind != nil
        renewsKey = own?.text("rotationPolicy").map { $0 == "always" }
        lifetime = record.seconds("lifetime")
        renewalTime = RenewalTime(record) ?? defaults.renewalTime
        formerName = record.text("renamedFrom")
        isProtected = record.flag("protect")
        source = record.record("import").map { ImportEntry($0) }
        issuerName = record.text("issuer").map { Positioned($0, at: record.position(of: "issuer")) }
        outputs = record.records("outputs").flatMap { output in
            let files = OutputEntry.all(
                output, [("chain", .chain), ("certificate", .certificate), ("keyUri", .keyURI)], defaultMode: 0o644)
            if files.isEmpty {
                problems.append(
                    ManifestProblem(
                        "the output names no file", at: output.position, hint: "chain, certificate or keyUri"))
            }
            return files
        }
        hooks = HookEntry.all(record, of: HookEntry.owner("identities", name))
        problems += Self.problems(of: record, contents)
    }

    private static func problems(of record: Record, _ contents: CertificateContents) -> [ManifestProblem] {
        var found: [ManifestProblem] = []
        if contents.isEmpty, record.has("issuer"), !record.has("import") {
            found.append(
                ManifestProblem(
                    "the certificate has no name", at: record.position,
                    hint: "give commonName, subject, dnsNames, ips, emails or uris"))
        }
        for address in record.positionedTexts("ips") where GeneralName(ipAddress: address.value) == nil {
            found.append(ManifestProblem("this is not an IP address", at: address.position))
        }
        for host in record.positionedTexts("dnsNames") where GeneralName(ipAddress: host.value) != nil {
            found.append(ManifestProblem("this is an address, not a host name", at: host.position, hint: "ips"))
        }
        if contents.usages.contains(.timeStamping), Set(contents.usages).count > 1 {
            found.append(
                ManifestProblem("time-stamping excludes all other usages", at: record.position(of: "usages")))
        }
        if contents.pathLength != nil, !contents.isAuthority {
            found.append(
                ManifestProblem("only an authority has a path length", at: record.position(of: "pathLength")))
        }
        do { _ = try contents.name() } catch {
            found.append(
                ManifestProblem(
                    "this is not the name of a subject",
                    at: record.position(of: record.has("subject") ? "subject" : "commonName"),
                    hint: "example: CN=web,O=Example,C=DE"))
        }
        return found
    }

    /// The certificate and key that the entry describes.
    ///
    /// - Parameter key: The algorithm of the key, which decides some usages.
    /// - Throws: `CryptoError` for a name that cannot be encoded.
    package func extensions(for key: KeyAlgorithm? = nil) throws -> CertificateExtensions {
        try contents.extensions(for: key ?? Self.algorithm(of: self.key))
    }

    /// The algorithm of a key, for choosing usages; the size does not matter for them.
    package static func algorithm(of key: KeySpecification) -> KeyAlgorithm {
        switch key {
        case .ed25519: .ed25519
        case .p256, .p384, .p521: .ec(.p256)
        default: .rsa(bits: 3072)
        }
    }

    /// The specification for making the identity.
    ///
    /// - Throws: `CryptoError` for a name that cannot be encoded.
    package func specification() throws -> IdentitySpecification {
        IdentitySpecification(
            subject: try contents.name(), extensions: try extensions(), key: key, lifetime: lifetime,
            renewalTime: renewalTime)
    }
}
