package import Foundation
import KeyfobPrimitives
public import OpenSSL
import PKCS11

/// The result of installing a certificate under a name.
public struct IdentityInstallation: Sendable {
    /// The identity that bears the name now.
    public let identity: Identity
    /// Whether it bore the name before, so that nothing was changed.
    public let isUnchanged: Bool
    /// The labels under which the versions that bore the name before are kept.
    public let kept: [String]
    /// Those versions' certificates in DER, in the same order: others may be called as they are.
    let predecessors: [Data]
    /// Certificates of the chain that were stored with it.
    public let addedCertificates: [CertificateItem]
    /// The chain as far as the keychain's certificates and those given with it reach, leaf first. A root that was given
    /// is not stored.
    public let chain: CertificateChain
}

extension Keychain {
    /// Puts an issued certificate together with its key, which is on the token already.
    ///
    /// The key is one that was made under the name, or that of a certificate which bears it.
    /// An identity that bears the name makes room in the same step: it is kept as `NAME@` and the day on which it
    /// expires, and its access groups, its accessibility and what else was said of it pass on. All or nothing: a
    /// process that is killed at any instant leaves the old version or the new one in its place, and who looks for the
    /// name meanwhile finds exactly one of them.
    ///
    /// - Parameters:
    ///   - chain: Certificates above the leaf, in any order; a self-signed root among them is not stored.
    ///   - fileName: What messages call the certificate.
    /// - Throws: `KeychainError`; `identityMismatch` where the certificate is for another key, `itemNotFound` where
    ///   there is no key of the name, and the errors of `unlock()`. Nothing is changed then.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func installIdentity(
        _ name: String, certificate: Certificate, chain: [Certificate] = [], fileName: String? = nil
    ) throws -> IdentityInstallation {
        _ = try keys()
        let key = try installableKey(name, for: certificate, fileName: fileName)
        let made = try install(name, key: key, certificate: certificate, chain: chain, policy: nil)
        // No renewal comes back to the key once it has lost this certificate. That is installed, whatever becomes of
        // the record.
        if let label = key.label?.text {
            do { try release(certificate.publicKey.identifier, called: label, isWaiting: false) } catch {}
        }
        return made
    }

    /// Puts an issued certificate together with its key. - Throws: As the blocking form.
    @discardableResult
    public func installIdentity(
        _ name: String, certificate: Certificate, chain: [Certificate] = [], fileName: String? = nil
    ) async throws -> IdentityInstallation {
        try await run {
            try self.installIdentity(name, certificate: certificate, chain: chain, fileName: fileName)
        }
    }

    /// Refuses what `installIdentity` would refuse, and changes nothing. - Throws: As it does.
    package func requireInstallable(_ name: String, certificate: Certificate, fileName: String?) throws {
        _ = try keys()
        _ = try installableKey(name, for: certificate, fileName: fileName)
    }

    /// The one of several certificates that is for a key of a name; `nil` where none is.
    ///
    /// - Returns: Of several one that is valid at `date`, where there is one; else the first.
    /// - Throws: As `installIdentity`; that there is no key of the name is no error.
    package func certificate(
        ofKeyNamed name: String, among certificates: [Certificate], on date: Date
    ) throws -> Certificate? {
        _ = try keys()
        let named = try installableKeys(name).named
        let own = certificates.filter { one in named.contains { Self.isKey($0, of: one) } }
        return own.first { $0.isValid(on: date) } ?? own.first
    }

    /// The private keys on the token that a name may mean, and all that there are.
    private func installableKeys(_ name: String) throws -> (named: [TokenObject], all: [Item]) {
        var own = Criteria(.key, [.keyClass: .number(KeyClass.private.rawValue)])
        own.includesSynchronizable = true
        let items = try findOnToken(own)
        let named = items.filter { item in
            guard let label = item.attributes[.label]?.text else { return false }
            return label.isIdentical(to: name) || IdentityVersion.isVersion(label, of: name)
        }.compactMap(\.object)
        // A key that another tool labelled belongs to the name by its certificate.
        let joined = try findOnToken(Criteria(.identity, [.label: .string(name)])).compactMap(\.object)
        return (named + joined, items)
    }

    /// The private key on the token that a certificate for a name is about.
    private func installableKey(_ name: String, for certificate: Certificate, fileName: String?) throws -> TokenObject {
        let (named, items) = try installableKeys(name)
        if let key = named.first(where: { Self.isKey($0, of: certificate) }) { return key }
        guard let own = named.first else {
            let own = items.first { $0.object.map { Self.isKey($0, of: certificate) } ?? false }
            let label = own?.attributes[.label]?.text
            let hint = label.map {
                "The certificate belongs to key \"\($0)\": keyfob identity install --cert FILE \(ShellWord.operand($0))"
            }
            throw KeychainError(
                .itemNotFound, "no key \"\(name)\" in keychain \"\(self.name)\".",
                hint: hint ?? "All keys: keyfob key ls", details: ["name": name, "keychain": self.name])
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
            hint: "The certificate belongs to key sha256:\(theirs)…"
                + (ours.map { "; yours is sha256:\($0)…" } ?? "")
                + Self.advice(toFind: certificate.publicKey, isThere: hasKey(certificate.publicKey)),
            details: [
                "certificate_key": "sha256:\(theirs)", "key": ours.map { "sha256:\($0)" } ?? "unknown", "name": name,
            ])
    }

    /// Gives a name to a certificate, and other labels to those that bore the name before.
    ///
    /// - Parameters:
    ///   - policy: How the identity is renewed; `nil` keeps what was said of the version before.
    ///   - renewed: The certificate whose next version this is; `nil` where only the name says so. `vaultBusy` where
    ///     another one has taken the name from it.
    ///   - isFirst: Whether there may be no version before; `duplicateItem` where somebody else was faster.
    func install(
        _ name: String, key: TokenObject, certificate: Certificate, chain: [Certificate], policy: RenewalPolicy?,
        renewing renewed: Certificate? = nil, isFirst: Bool = false
    ) throws -> IdentityInstallation {
        guard Self.isKey(key, of: certificate) else {
            throw mismatch(certificate, key: key, name: name, fileName: nil)
        }
        let keys = try keys()
        // A root is trusted because its owner chose to, never because it came along.
        let above = CertificateChain.order(leaf: certificate, candidates: chain).certificates.dropFirst()
            .filter { !$0.isSelfSigned }
        let authorities = above.map { NewObject(certificate: $0, label: $0.ownName.map { .string($0) }) }
        var missing: [NewObject] = []
        var replaced = ReplacedVersions()
        var present: [TokenObject] = []
        let added = try token.retryingMomentaryFailures {
            try writer(keys).perform(.create, listing: key) { objects in
                let objects = try recognizing(objects)
                present = objects
                guard objects.contains(where: { $0.isSame(as: key) }) else {
                    throw KeychainError(.itemNotFound, "the key was removed by another program meanwhile.")
                }
                let inUse = try versionsInUse(of: name, besides: certificate, among: objects, keys)
                guard inUse.isEmpty || !isFirst else { throw isTaken(name) }
                // An issuer takes its time. A version that another process has put into use meanwhile stays in use.
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
                missing = ([leaf] + authorities).filter { new in !objects.contains { new.isSame(as: $0) } }
                return missing.map { UnfinishedObject(making: $0) }
            } change: { session, leftovers, _ in
                TokenWriter.Outcome(added: try missing.map { try self.create($0, in: session, leftovers) })
            } commit: { writer, outcome in
                try listKey(key, writer, keys)
                let predecessors = replaced.predecessors(of: certificate, renewing: renewed)
                let transfer = try takeAttributes(of: replaced, from: predecessors, name, policy, writer, keys)
                try rename(replaced, name, writer, keys)
                if let known = replaced.leaf { try give(transfer, to: known, name, writer, keys) }
                try giveKeyAttributes(of: predecessors, to: certificate.publicKey, among: present, writer, keys)
                let known = present.filter { object in authorities.contains { $0.isSame(as: object) } }
                try share(known, transfer, writer, keys)
                return try record(outcome.added, leaf: certificate, called: name, transfer, writer, keys)
            }
        }
        var own = Criteria(.identity, [.publicKeyHash: .data(certificate.publicKey.identifier)])
        own.includesSynchronizable = true
        guard let item = try findOnToken(own).first(where: { $0.certificateDER == certificate.der }) else {
            throw KeychainError(.failed, "the identity was stored and cannot be found again.")
        }
        return IdentityInstallation(
            identity: Identity(item: item), isUnchanged: missing.isEmpty && replaced.isEmpty,
            kept: replaced.versions.map(\.name),
            predecessors: replaced.versions.map { $0.object.certificateDER ?? Data() },
            addedCertificates: added.filter { $0.certificateDER != certificate.der }.map { CertificateItem(item: $0) },
            chain: try self.chain(of: certificate, with: chain))
    }
}
