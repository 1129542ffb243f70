package import Foundation
import KeyfobPrimitives
public import KeyfobOpenSSL
import PKCS11

/// The result of installing a certificate under a name.
public struct IdentityInstallation: Sendable {
    /// The identity that has the name now.
    public let identity: Identity
    /// Whether it had the name before and nothing was changed.
    public let isUnchanged: Bool
    /// The labels under which the versions that had the name before are kept.
    public let kept: [String]
    /// The certificates of those versions in DER, in the same order; their labels need not be unique.
    let predecessors: [Data]
    /// Certificates of the chain that were stored.
    public let addedCertificates: [CertificateItem]
    /// The chain as far as the keychain's certificates and the given ones reach, leaf first. A given root is not
    /// stored.
    public let chain: CertificateChain
}

extension KeychainIdentities {
    /// Installs an issued certificate for a key that is already on the token.
    ///
    /// The key was made under the name, or belongs to a certificate that has the name. An identity that has the name is
    /// replaced in the same step: it is kept as `NAME@` and the day on which it expires. Its access groups,
    /// accessibility and other attributes are passed on. A process killed at any instant leaves either the old version
    /// or the new one in place. A concurrent search for the name finds exactly one of them.
    ///
    /// - Parameters:
    ///   - chain: Certificates above the leaf, in any order; a self-signed root among them is not stored.
    ///   - fileName: The name of the certificate in messages.
    /// - Throws: `KeychainError`; `identityMismatch` if the certificate is for another key, `itemNotFound` if there is
    ///   no key of the name, and the errors of `unlock()`. Nothing is changed then.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func install(
        _ name: String, certificate: Certificate, chain: [Certificate] = [], fileName: String? = nil
    ) throws -> IdentityInstallation {
        try keychain.withDeadline { [self] in
            _ = try keychain.vaultKeys()
            let key = try installableKey(name, for: certificate, fileName: fileName)
            let made = try install(name, key: key, certificate: certificate, chain: chain, policy: nil)
            // Renewals must not reuse the key after it loses this certificate. The installation succeeded even if
            // updating the record fails.
            if let label = key.label?.text {
                do { try release(certificate.publicKey.identifier, called: label, isWaiting: false) } catch {}
            }
            return made
        }
    }

    /// Installs an issued certificate for a key that is already on the token.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    @discardableResult
    public func install(
        _ name: String, certificate: Certificate, chain: [Certificate] = [], fileName: String? = nil
    ) async throws -> IdentityInstallation {
        try await keychain.run {
            try self.install(name, certificate: certificate, chain: chain, fileName: fileName)
        }
    }

    /// Checks, without changing anything, whether `installIdentity` would find the key for a certificate.
    ///
    /// - Throws: `KeychainError`; `identityMismatch` if the certificate is for another key, `itemNotFound` if there is
    ///   no key of the name, and the errors of `unlock()`.
    package func requireInstallable(_ name: String, certificate: Certificate, fileName: String?) throws {
        _ = try keychain.vaultKeys()
        _ = try installableKey(name, for: certificate, fileName: fileName)
    }

    /// The certificate, out of several, that is for a key of a name; `nil` if there is none.
    ///
    /// - Returns: The first one that is valid at `date`; if there is none, the first one.
    /// - Throws: `KeychainError`; the errors of `unlock()`, and of reading the token. A missing key is not an error.
    package func certificate(
        ofKeyNamed name: String, among certificates: [Certificate], on date: Date
    ) throws -> Certificate? {
        _ = try keychain.vaultKeys()
        let named = try installableKeys(name).named
        let own = certificates.filter { one in named.contains { Self.isKey($0, of: one) } }
        return own.first { $0.isValid(on: date) } ?? own.first
    }

    /// The private keys on the token that may belong to a name, and all private keys.
    private func installableKeys(_ name: String) throws -> (named: [TokenObject], all: [Item]) {
        var own = Criteria(.key, [.keyClass: .number(KeyClass.private.rawValue)])
        own.includesSynchronizable = true
        let items = try keychain.tokenItems.findOnToken(own)
        let named = items.filter { item in
            guard let label = item.attributes[.label]?.text else { return false }
            return label.isIdentical(to: name) || IdentityVersion.isVersion(label, of: name)
        }.compactMap(\.object)
        // A key that another tool labelled belongs to the name through its certificate.
        let joined = try keychain.tokenItems.findOnToken(Criteria(.identity, [.label: .string(name)])).compactMap(
            \.object)
        return (named + joined, items)
    }

    /// The private key on the token for the certificate of a name.
    private func installableKey(_ name: String, for certificate: Certificate, fileName: String?) throws -> TokenObject {
        let (named, items) = try installableKeys(name)
        if let key = named.first(where: { Self.isKey($0, of: certificate) }) { return key }
        guard let own = named.first else {
            let own = items.first { $0.object.map { Self.isKey($0, of: certificate) } ?? false }
            let label = own?.attributes[.label]?.text
            let remedy = label.map {
                Remedy("The certificate belongs to key \"\($0)\"", .installCertificate(identity: $0))
            }
            throw KeychainError(
                .itemNotFound, "no key \"\(name)\" in keychain \"\(keychain.name)\".",
                remedies: [remedy ?? Remedy("All keys", .listKeys())],
                details: ["name": name, "keychain": keychain.name])
        }
        throw mismatch(certificate, key: own, name: name, fileName: fileName)
    }

    private static func isKey(_ key: TokenObject, of certificate: Certificate) -> Bool {
        return key.keyIdentifier == certificate.publicKey.identifier
    }

    private func mismatch(
        _ certificate: Certificate, key: TokenObject, name: String, fileName: String?
    ) -> KeychainError {
        let theirs = Digest.sha256(certificate.publicKey.subjectPublicKeyInfo).hexadecimal.prefix(16)
        let ours = key.publicKeyInfo.map { Digest.sha256($0).hexadecimal.prefix(16) }
        return KeychainError(
            .identityMismatch,
            "\(fileName ?? "the certificate") was not issued for key \"\(name)\": public keys differ.",
            remedies: KeychainKeys.advice(
                "The certificate belongs to key sha256:\(theirs)…" + (ours.map { "; yours is sha256:\($0)…" } ?? ""),
                toFind: certificate.publicKey, isThere: keychain.keys.hasKey(certificate.publicKey)),
            details: [
                "certificate_key": "sha256:\(theirs)", "key": ours.map { "sha256:\($0)" } ?? "unknown", "name": name,
            ])
    }

    /// Gives a name to a certificate, and other labels to the versions that had the name before.
    ///
    /// - Parameters:
    ///   - policy: The renewal policy; `nil` keeps that of the previous version.
    ///   - renewed: The certificate being renewed; `nil` if only the name identifies it. Throws `vaultBusy` if another
    ///     certificate has taken the name from it.
    ///   - isFirst: Whether there must be no previous version; throws `duplicateItem` if another process was faster.
    func install(
        _ name: String, key: TokenObject, certificate: Certificate, chain: [Certificate], policy: RenewalPolicy?,
        renewing renewed: Certificate? = nil, isFirst: Bool = false
    ) throws -> IdentityInstallation {
        guard Self.isKey(key, of: certificate) else {
            throw mismatch(certificate, key: key, name: name, fileName: nil)
        }
        let keys = try keychain.vaultKeys()
        // A root is trusted only by a decision of the user, never because it is in a chain.
        let above = CertificateChain.order(leaf: certificate, candidates: chain).certificates.dropFirst()
            .filter { !$0.isSelfSigned }
        let authorities = above.map { NewObject(certificate: $0, label: $0.ownName.map { .string($0) }) }
        var replaced = ReplacedVersions()
        var present: [TokenObject] = []
        let (added, isUnchanged) = try keychain.token.retryingMomentaryFailures {
            try keychain.writer(keys).create(listing: key) { objects in
                let objects = try keychain.tokenItems.recognizing(objects)
                present = objects
                guard objects.contains(where: { $0.isSame(as: key) }) else {
                    throw KeychainError(.itemNotFound, "the key was removed by another program meanwhile.")
                }
                let inUse = try versionsInUse(of: name, besides: certificate, among: objects, keys)
                guard inUse.isEmpty || !isFirst else { throw isTaken(name) }
                // Issuing takes time. A version that another process has installed since stays in use.
                if let renewed, !inUse.contains(where: { $0.certificateDER == renewed.der }),
                    try !replacing([], under: name, by: certificate, among: objects, keys).isLeafNamed
                {
                    throw Self.changed(name, "the certificate that was issued for the version before is not installed.")
                }
                replaced = try replacing(
                    predecessors(
                        of: certificate, named: name, inUse, renewing: renewed, among: objects, keys),
                    under: name, by: certificate, among: objects, keys)
                let leaf = NewObject(certificate: certificate, label: replaced.leafLabel)
                return [leaf] + authorities
            } commit: { writer, added in
                try keychain.tokenItems.listKey(key, writer, keys)
                let predecessors = replaced.predecessors(of: certificate, renewing: renewed)
                let transfer = try takeAttributes(of: replaced, from: predecessors, name, policy, writer, keys)
                try rename(replaced, name, writer, keys)
                if let known = replaced.leaf { try give(transfer, to: known, name, writer, keys) }
                try giveKeyAttributes(of: predecessors, to: certificate.publicKey, among: present, writer, keys)
                let known = present.filter { object in authorities.contains { $0.isSame(as: object) } }
                try share(known, transfer, writer, keys)
                let items = try record(added, leaf: certificate, called: name, transfer, writer, keys)
                return (items, added.isEmpty && replaced.isEmpty)
            }
        }
        return IdentityInstallation(
            identity: try storedIdentity(of: certificate), isUnchanged: isUnchanged,
            kept: replaced.versions.map(\.name),
            predecessors: replaced.versions.map { $0.object.certificateDER ?? Data() },
            addedCertificates: added.filter { $0.certificateDER != certificate.der }.map { CertificateItem(item: $0) },
            chain: try keychain.certificates.chain(of: certificate, with: chain))
    }

    /// The identity of a certificate that was just stored.
    func storedIdentity(of certificate: Certificate) throws -> Identity {
        var own = Criteria(.identity, [.publicKeyHash: .data(certificate.publicKey.identifier)])
        own.includesSynchronizable = true
        guard let item = try keychain.tokenItems.findOnToken(own).first(where: { $0.certificateDER == certificate.der })
        else {
            throw KeychainError(.failed, "the identity was stored and cannot be found again.")
        }
        return Identity(item: item)
    }
}
