public import Foundation
import KeyfobPrimitives
import OpenSSL

/// The versions of an identity.
extension Keychain {
    /// All versions of a name, whosever they are: those in use first, then the others, the one that expires last first.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`, and where the token cannot be read.
    @available(*, noasync, message: "use the asynchronous form")
    public func versions(of name: String) throws -> [Identity] {
        let all = try find(.identities).map { ($0, try $0.certificate().notAfter) }
        let current = all.filter { $0.0.label?.isIdentical(to: name) ?? false }
        let older = all.filter { $0.0.nameOfVersion?.isIdentical(to: name) ?? false }.sorted { $0.1 > $1.1 }
        return (current + older).map(\.0)
    }

    /// The versions of an identity: those of its name that one of its access groups sees, as a renewal has it.
    ///
    /// - Returns: In the order of `versions(of:)` for a name; one that several access groups see is several items.
    /// - Throws: `KeychainError`; the errors of `unlock()`, and where the token cannot be read.
    @available(*, noasync, message: "use the asynchronous form")
    public func versions(of identity: Identity) throws -> [Identity] {
        guard let name = identity.nameOfVersion ?? identity.label else { return [identity] }
        let keys = try keys()
        func owners(_ version: Identity) throws -> Set<String> {
            guard let object = version.item.certificateObject else { return [""] }
            return try self.owners(of: object, called: version.label, keys)
        }
        let own = try owners(identity)
        return try versions(of: name).filter { try !owners($0).isDisjoint(with: own) }
    }

    /// What `keyfob identity retire` is to be told so that it means versions of one owner and nobody else's: their
    /// name, or where another owner has that name, too, the fingerprint of each.
    ///
    /// - Parameters:
    ///   - versions: Older versions of an identity.
    ///   - own: Further items of the identity, or such as will be gone by then.
    /// - Throws: `KeychainError`; the errors of `unlock()`, and where the token cannot be read.
    package func retirementWords(
        for versions: [Identity], of name: String, besides own: [Identity]
    ) throws -> [String] {
        var known = Set((versions + own).map(\.der))
        let isShared = try find(.identities).contains { other in
            !known.contains(other.der)
                && [other.label, other.nameOfVersion].contains { $0?.isIdentical(to: name) ?? false }
        }
        guard isShared else { return [ShellWord.operand(name)] }
        known = []
        return versions.filter { known.insert($0.der).inserted }
            .map { "sha256:" + Digest.sha256($0.der).hexadecimal.prefix(16) }
    }

    /// Puts an older version of an identity back into use; the one that bears the name now becomes an older one.
    ///
    /// Asks for no date: one that has expired, or is not valid yet, is put into use as any other.
    ///
    /// - Returns: What was done; unchanged for a version that is in use.
    /// - Throws: `KeychainError`; as `installIdentity`.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func use(_ version: Identity) throws -> IdentityInstallation {
        guard let label = version.label, let key = version.item.object else {
            throw KeychainError(.invalidArgument, "the identity was not found in a keychain, or has no name.")
        }
        return try install(
            version.nameOfVersion ?? label, key: key, certificate: version.certificate(), chain: [], policy: nil)
    }

    /// Destroys an older version of an identity: its certificate, and its key unless another certificate needs it.
    ///
    /// One that several access groups see is several items, which all go.
    ///
    /// - Throws: `KeychainError`; `refused` for the version in use, and for one whose certificate is needed: somebody
    ///   trusts it, or a certificate in use has no other issuer; and as `delete`.
    @available(*, noasync, message: "use the asynchronous form")
    public func retire(_ version: Identity) throws {
        guard version.nameOfVersion != nil else {
            throw KeychainError(
                .refused, "identity \"\(version.label ?? "")\" is in use; only older versions are retired.",
                hint: "To destroy it: keyfob identity rm \(ShellWord.operand(version.label ?? "NAME"))",
                details: ["name": version.label ?? ""])
        }
        try requireUnneeded([version])
        let items = try find(.identities.having(.label, .string(version.label ?? ""))).filter { $0.der == version.der }
        var references: Set<PersistentReference> = []
        for item in items.isEmpty ? [version] : items {
            if let reference = item.reference, !references.insert(reference).inserted { continue }
            try deleteUnrenamed(item)
        }
    }

    /// Refuses to do without certificates of authorities that others still need.
    ///
    /// - Parameter versions: All that are to go together.
    /// - Throws: `KeychainError` (`refused`); the errors of `unlock()`.
    package func requireUnneeded(_ versions: [Identity]) throws {
        let authorities = try versions.map { (item: $0, certificate: try $0.certificate()) }.filter(\.certificate.isCA)
        guard !authorities.isEmpty else { return }
        let anchors = try trustAnchors()
        let usages = Dictionary(anchors.map { ($0.certificate, $0.usages) }, uniquingKeysWith: { $0 + $1 })
        for (item, certificate) in authorities {
            guard let trusted = usages[certificate] else { continue }
            let label = item.label ?? ""
            // The owner's: another may have one of the name. What cannot be read is no second failure.
            let current = (try? self.versions(of: item))?.first { $0.nameOfVersion == nil }
            let name = try current.map { try word(for: $0.certificate(), called: $0.label) } ?? "NAME"
            let anchor = try word(for: certificate, called: item.label)
            throw KeychainError(
                .refused, "\"\(label)\" is trusted: what it issued would be trusted no more.",
                hint: "Trust the version in use first: keyfob trust add \(name)\(Self.trustOptions(for: trusted)), "
                    + "then: keyfob trust rm \(anchor)",
                details: ["name": label])
        }
        let now = Date()
        let valid = authorities.filter { $0.certificate.notAfter > now }
        guard !valid.isEmpty else { return }
        // What calls itself a certificate and is none has no chain.
        let leaving = Set(versions.map(\.der))
        let others = try publicCertificates().filter { !leaving.contains($0.der) }
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
            // What is here without its key is renewed elsewhere.
            let identity = try find(.identities).first { $0.der == dependent.item.der }
            throw KeychainError(
                .refused, "\"\(label)\" issued \"\(name)\", whose chain would end without it.",
                hint: identity?.renewalHint("Renew that first")
                    ?? "If nobody needs that here, remove it first: keyfob cert rm \(fingerprint)",
                details: ["name": label])
        }
    }

    /// All versions of a name. - Throws: As the blocking form.
    public func versions(of name: String) async throws -> [Identity] { try await run { try self.versions(of: name) } }

    /// The versions of an identity. - Throws: As the blocking form.
    public func versions(of identity: Identity) async throws -> [Identity] {
        try await run { try self.versions(of: identity) }
    }

    /// Puts an older version of an identity back into use. - Throws: As the blocking form.
    @discardableResult
    public func use(_ version: Identity) async throws -> IdentityInstallation {
        try await run { try self.use(version) }
    }

    /// Destroys an older version of an identity. - Throws: As the blocking form.
    public func retire(_ version: Identity) async throws { try await run { try self.retire(version) } }
}

extension Identity {
    /// Which part of the certificate's lifetime has passed: 0 at its beginning, 1 at its end.
    ///
    /// - Throws: `KeyFileError` where the object on the token holds something that is not a certificate.
    public func lifetimeUsed(on date: Date = Date()) throws -> Double {
        let certificate = try certificate()
        let lifetime = certificate.notAfter.timeIntervalSince(certificate.notBefore)
        return lifetime > 0 ? date.timeIntervalSince(certificate.notBefore) / lifetime : 1
    }
}
