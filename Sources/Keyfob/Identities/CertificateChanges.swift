public import KeyfobOpenSSL

/// Changes to what the next certificate of an identity says. Without a change, a renewal copies the certificate.
public struct CertificateChanges: Sendable, Hashable {
    /// The subject; `nil` keeps it.
    ///
    /// A subject that is only the common name of a removed host gets the first new host.
    public var subject: DistinguishedName?

    /// The alternative names. They replace the present names of the same kinds, such as all host names.
    public var names: [GeneralName]

    /// The usages; `nil` keeps them.
    public var usages: [CertificateUsage]?

    /// Creates changes.
    public init(subject: DistinguishedName? = nil, names: [GeneralName] = [], usages: [CertificateUsage]? = nil) {
        self.subject = subject
        self.names = names
        self.usages = usages
    }

    /// Returns whether a certificate differs from what the changes ask for.
    ///
    /// - Throws: `KeychainError`; the errors of `contents(replacing:)`.
    public func change(_ certificate: Certificate) throws -> Bool {
        let (subject, extensions) = try contents(replacing: certificate)
        return subject != certificate.subject
            || Set(extensions.subjectAlternativeNames) != Set(certificate.subjectAlternativeNames)
            || Set(extensions.extendedKeyUsage) != Set(certificate.extendedKeyUsage)
    }

    /// The subject and the extensions of the certificate that replaces another one.
    ///
    /// - Throws: `KeychainError` with code `invalidArgument` for the usages of an authority, and for a name that cannot
    ///   be encoded.
    func contents(replacing old: Certificate) throws -> (DistinguishedName, CertificateExtensions) {
        var extensions = old.renewableExtensions
        let former = extensions.subjectAlternativeNames
        let kinds = Set(names.map(\.kind))
        extensions.subjectAlternativeNames = names + former.filter { !kinds.contains($0.kind) }
        if let usages {
            guard !old.isCA else {
                throw KeychainError(.invalidArgument, "the certificate of an authority has no usages to change.")
            }
            let purposes = usages.contains(.any) ? [] : usages.compactMap(\.extendedKeyUsage)
            let template = CertificateExtensions.endEntity([], purposes, key: old.publicKey.algorithm)
            (extensions.extendedKeyUsage, extensions.keyUsage) = (purposes, template.keyUsage)
        }
        return (try subject ?? subject(of: old, replacing: former), extensions)
    }

    private func subject(of old: Certificate, replacing former: [GeneralName]) throws -> DistinguishedName {
        guard let host = old.subject.commonName, former.contains(.dns(host)), !names.contains(.dns(host)) else {
            return old.subject
        }
        let hosts = names.compactMap { if case .dns(let host) = $0 { host } else { nil } }
        return try KeychainError.describingRequests {
            // RFC 5280 A.1: ub-common-name.
            guard let first = hosts.first(where: { $0.count <= 64 }),
                try old.subject == DistinguishedName(commonName: host)
            else { return old.subject }
            return try DistinguishedName(commonName: first)
        }
    }
}

extension GeneralName {
    /// The kinds of names that replace each other.
    fileprivate enum Kind: Hashable { case dns, email, ip, uri, other }

    fileprivate var kind: Kind {
        switch self {
        case .dns: .dns
        case .email: .email
        case .ip: .ip
        case .uri: .uri
        case .other: .other
        }
    }
}
