public import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL

/// The versions of an identity.
extension KeychainIdentities {
    /// All versions of a name, of all owners: those in use first, then the others by expiry, latest first.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`, and of reading the token.
    @available(*, noasync, message: "use the asynchronous form")
    public func versions(of name: String) throws -> [Identity] {
        try keychain.withDeadline { [self] in
            let all = try keychain.find(.identities).map { ($0, try $0.certificate().notAfter) }
            let current = all.filter { $0.0.label?.isIdentical(to: name) ?? false }
            let older = all.filter { $0.0.nameOfVersion?.isIdentical(to: name) ?? false }.sorted { $0.1 > $1.1 }
            return (current + older).map(\.0)
        }
    }

    /// The versions of an identity: those of its name that one of its access groups sees, as for a renewal.
    ///
    /// - Returns: The versions in the order of `versions(of:)` for a name. A version that several access groups see is
    ///   several items.
    /// - Throws: `KeychainError`; the errors of `unlock()`, and of reading the token.
    @available(*, noasync, message: "use the asynchronous form")
    public func versions(of identity: Identity) throws -> [Identity] {
        try keychain.withDeadline { [self] in
            guard let name = identity.nameOfVersion ?? identity.label else { return [identity] }
            let keys = try keychain.vaultKeys()
            func owners(_ version: Identity) throws -> Set<String> {
                guard let object = version.item.certificateObject else { return [""] }
                return try self.owners(of: object, called: version.label, keys)
            }
            let own = try owners(identity)
            return try versions(of: name).filter { try !owners($0).isDisjoint(with: own) }
        }
    }

    /// The names by which the older versions of one owner only are retired.
    ///
    /// This is the name, or the fingerprint of each version if another owner has the same name.
    ///
    /// - Parameters:
    ///   - versions: Older versions of an identity.
    ///   - own: Further items of the identity, and items that will be gone by then.
    /// - Throws: `KeychainError`; the errors of `unlock()`, and of reading the token.
    package func retirementWords(
        for versions: [Identity], of name: String, besides own: [Identity]
    ) throws -> [String] {
        var known = Set((versions + own).map(\.der))
        let isShared = try keychain.find(.identities).contains { other in
            !known.contains(other.der)
                && [other.label, other.nameOfVersion].contains { $0?.isIdentical(to: name) ?? false }
        }
        guard isShared else { return [name] }
        known = []
        return versions.filter { known.insert($0.der).inserted }
            .map { "sha256:" + Digest.sha256($0.der).hexadecimal.prefix(16) }
    }

    /// Puts an older version of an identity back into use; the current one becomes an older version.
    ///
    /// Dates are not checked: a version that has expired or is not valid yet is accepted.
    ///
    /// - Returns: The result; unchanged for a version that is in use.
    /// - Throws: `KeychainError`; `invalidArgument` for an identity that was not found in a keychain, `itemNotFound` if
    ///   its key is gone, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func use(_ version: Identity) throws -> IdentityInstallation {
        try keychain.withDeadline { [self] in
            guard let label = version.label, let key = version.item.object else {
                throw KeychainError(.invalidArgument, "the identity was not found in a keychain, or has no name.")
            }
            return try install(
                version.nameOfVersion ?? label, key: key, certificate: version.certificate(), chain: [], policy: nil)
        }
    }

    /// Destroys an older version of an identity: its certificate, and its key unless another certificate needs it.
    ///
    /// A version that several access groups see is several items, all of which are removed.
    ///
    /// - Throws: `KeychainError`; `refused` for the version in use, and for a certificate that is still needed, because
    ///   it is trusted or is the only issuer of a certificate in use; and the errors of `delete`.
    @available(*, noasync, message: "use the asynchronous form")
    public func retire(_ version: Identity) throws {
        try keychain.withDeadline { [self] in
            guard version.nameOfVersion != nil else {
                throw KeychainError(
                    .refused, "identity \"\(version.label ?? "")\" is in use; only older versions are retired.",
                    remedies: [Remedy("To destroy it", .removeIdentity(version.label))],
                    details: ["name": version.label ?? ""])
            }
            try requireUnneeded([version])
            let items = try keychain.find(.identities.having(.label, .string(version.label ?? ""))).filter {
                $0.der == version.der
            }
            var references: Set<PersistentReference> = []
            for item in items.isEmpty ? [version] : items {
                if let reference = item.reference, !references.insert(reference).inserted { continue }
                try keychain.deleteUnrenamed(item)
            }
        }
    }

    /// Refuses to remove certificates of authorities that are still needed.
    ///
    /// - Parameter versions: The versions that are removed together.
    /// - Throws: `KeychainError`; `refused`, and the errors of `unlock()`.
    package func requireUnneeded(_ versions: [Identity]) throws {
        let authorities = try versions.map { (item: $0, certificate: try $0.certificate()) }.filter(\.certificate.isCA)
        guard !authorities.isEmpty else { return }
        let anchors = try keychain.trust.anchors()
        let usages = Dictionary(anchors.map { ($0.certificate, $0.usages) }, uniquingKeysWith: { $0 + $1 })
        for (item, certificate) in authorities {
            guard let trusted = usages[certificate] else { continue }
            let label = item.label ?? ""
            // The version of the same owner: another owner may have the same name. Read errors are ignored in a hint.
            let current = (try? self.versions(of: item))?.first { $0.nameOfVersion == nil }
            let name = try current.map { try keychain.trust.word(for: $0.certificate(), called: $0.label) }
            let anchor = try keychain.trust.word(for: certificate, called: item.label)
            throw KeychainError(
                .refused, "\"\(label)\" is trusted: what it issued would be trusted no more.",
                remedies: [
                    Remedy("Trust the version in use first", .trust(name, usages: CertificateUsage.names(of: trusted))),
                    Remedy("Then", .distrust(anchor)),
                ],
                details: ["name": label])
        }
        let now = Date()
        let valid = authorities.filter { $0.certificate.notAfter > now }
        guard !valid.isEmpty else { return }
        // Skip an object of the certificate class that does not hold a certificate.
        let leaving = Set(versions.map(\.der))
        let others = try keychain.certificates.publicCertificates().filter { !leaving.contains($0.der) }
            .compactMap { item in (try? item.certificate()).map { (item: item, certificate: $0) } }
            .filter { $0.certificate.notAfter > now }
        let issuers = others.map(\.certificate).filter(\.isCA)
        for (item, certificate) in valid {
            let dependent = others.first { other in
                other.item.nameOfVersion == nil && !other.certificate.isSelfSigned
                    && other.certificate.isIssued(by: certificate)
                    && !issuers.contains { other.certificate.isIssued(by: $0) }
            }
            guard let dependent else { continue }
            let (label, name) = (item.label ?? "", dependent.item.label ?? dependent.certificate.subjectSummary ?? "")
            let fingerprint = "sha256:" + dependent.certificate.sha256Fingerprint.hexadecimal.prefix(16)
            // A certificate whose key is not here is renewed elsewhere.
            let identity = try keychain.find(.identities).first { $0.der == dependent.item.der }
            throw KeychainError(
                .refused, "\"\(label)\" issued \"\(name)\", whose chain would end without it.",
                remedies: identity?.renewalRemedies("Renew that first")
                    ?? [Remedy("If that is not needed here, remove it first", .removeCertificate(fingerprint))],
                details: ["name": label])
        }
    }

    /// All versions of a name, of all owners.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func versions(of name: String) async throws -> [Identity] {
        try await keychain.run { try self.versions(of: name) }
    }

    /// The versions of an identity.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func versions(of identity: Identity) async throws -> [Identity] {
        try await keychain.run { try self.versions(of: identity) }
    }

    /// Puts an older version of an identity back into use.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    @discardableResult
    public func use(_ version: Identity) async throws -> IdentityInstallation {
        try await keychain.run { try self.use(version) }
    }

    /// Destroys an older version of an identity.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func retire(_ version: Identity) async throws { try await keychain.run { try self.retire(version) } }
}

extension Identity {
    /// The fraction of the certificate's lifetime that has passed: 0 at its start, 1 at its end.
    ///
    /// - Throws: `KeyFileError` if the object on the token is not a certificate.
    public func lifetimeUsed(on date: Date = Date()) throws -> Double {
        let certificate = try certificate()
        let lifetime = certificate.notAfter.timeIntervalSince(certificate.notBefore)
        return lifetime > 0 ? date.timeIntervalSince(certificate.notBefore) / lifetime : 1
    }

    /// The time from which a renewal is due.
    ///
    /// - Throws: `KeyFileError` if the object on the token is not a certificate.
    public func renewalDate() throws -> Date {
        (renewalPolicy?.time ?? .usual).date(for: try certificate())
    }
}
