import Foundation
public import OpenSSL
import PKCS11

/// What putting a certificate under a name did.
public struct IdentityInstallation: Sendable {
    /// The identity that bears the name now.
    public let identity: Identity
    /// Whether it bore the name before, so that nothing was changed.
    public let isUnchanged: Bool
    /// The labels under which the versions that bore the name before are kept.
    public let kept: [String]
    /// Certificates of the chain that were stored with it.
    public let addedCertificates: [CertificateItem]
    /// The chain as far as the keychain's certificates reach, leaf first.
    public let chain: CertificateChain
}

extension Keychain {
    /// Puts an issued certificate together with its key, which is on the token already.
    ///
    /// The key is one that was made under the name, or that of a certificate which bears it.
    /// An identity that bears the name makes room in the same step: it is kept as `NAME@` and the day on which it
    /// expires. All or nothing: a process that is killed at any instant leaves the old version or the new one in its
    /// place, and who looks for the name meanwhile finds exactly one of them.
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
        return try install(name, key: key, certificate: certificate, chain: chain, policy: nil)
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

    /// The private key on the token that a certificate for a name is about.
    private func installableKey(_ name: String, for certificate: Certificate, fileName: String?) throws -> TokenObject {
        let keys = try findOnToken(Criteria(.key, [.keyClass: .number(KeyClass.private.rawValue)])).compactMap(\.object)
        let named = keys.filter { key in
            guard let label = key.label?.text else { return false }
            return label == name || IdentityVersion.isVersion(label, of: name)
        }
        // A key that another tool labelled belongs to the name by its certificate.
        let joined = try findOnToken(Criteria(.identity, [.label: .string(name)])).compactMap(\.object)
        if let key = (named + joined).first(where: { Self.isKey($0, of: certificate) }) { return key }
        guard let own = (named + joined).first else {
            let hint = keys.first { Self.isKey($0, of: certificate) }?.label?.text
            throw KeychainError(
                .itemNotFound, "no key \"\(name)\" in keychain \"\(self.name)\".",
                hint: hint.map { "The certificate belongs to key \"\($0)\": keyfob identity install \($0)" }
                    ?? "All keys: keyfob key ls", details: ["name": name, "keychain": self.name])
        }
        throw Self.mismatch(certificate, key: own, name: name, fileName: fileName)
    }

    private static func isKey(_ key: TokenObject, of certificate: Certificate) -> Bool {
        return (key.publicKeyHash ?? key.id) == certificate.publicKey.identifier
    }

    static func mismatch(
        _ certificate: Certificate, key: TokenObject, name: String, fileName: String?
    ) -> KeychainError {
        let theirs = Digest.sha256(certificate.publicKey.subjectPublicKeyInfo).hexadecimal.prefix(16)
        let ours = key.publicKeyInfo.map { Digest.sha256($0).hexadecimal.prefix(16) }
        return KeychainError(
            .identityMismatch,
            "\(fileName ?? "the certificate") was not issued for key \"\(name)\": public keys differ.",
            hint: "The certificate belongs to key sha256:\(theirs)…"
                + (ours.map { "; yours is sha256:\($0)…" } ?? "")
                + ". Find the key: keyfob key ls --pub sha256:\(theirs)",
            details: [
                "certificateKey": "sha256:\(theirs)", "key": ours.map { "sha256:\($0)" } ?? "unknown", "name": name,
            ])
    }

    /// Gives a name to a certificate, and other labels to those that bore the name before.
    ///
    /// - Parameter policy: How the identity is renewed; `nil` keeps what was said of the version before.
    func install(
        _ name: String, key: TokenObject, certificate: Certificate, chain: [Certificate], policy: RenewalPolicy?
    ) throws -> IdentityInstallation {
        guard Self.isKey(key, of: certificate) else {
            throw Self.mismatch(certificate, key: key, name: name, fileName: nil)
        }
        let keys = try keys()
        let leaf = NewObject(certificate: certificate, label: .string(name))
        // A root is trusted because somebody chose to, never because it came along.
        let above = CertificateChain.order(leaf: certificate, candidates: chain).certificates.dropFirst()
            .filter { !$0.isSelfIssued }
        let authorities = above.map { NewObject(certificate: $0, label: $0.subjectSummary.map { .string($0) }) }
        var missing: [NewObject] = []
        var succession = Succession()
        var moved: [TokenPlan.Object] = []
        let added = try writer(keys).perform(.create) { objects in
            guard objects.contains(where: { $0.isSame(as: key) }) else {
                throw KeychainError(.itemNotFound, "the key was removed by another program meanwhile.")
            }
            succession = try Succession(of: name, certificate, among: objects)
            missing = ([leaf] + authorities).filter { new in !objects.contains { new.isSame(as: $0) } }
            guard !missing.isEmpty || !succession.moves.isEmpty else { return nil }
            moved = succession.moves.map {
                TokenPlan.Object($0.object, newLabel: Data($0.label.utf8), among: objects)
            }
            return TokenPlan(kind: .install, objects: missing.map(\.planned) + moved)
        } change: { session, _ in
            // First what takes the name over: programs that know nothing of plans find two for a moment, never none.
            var outcome = TokenWriter.Outcome(added: try missing.map { try self.create($0, in: session) })
            for (move, planned) in zip(succession.moves, moved) {
                let handle = try token.verifiedHandle(of: move.object, in: session)
                try token.setLabel(
                    Data(move.label.utf8), of: handle, isCopied: planned.isCopied == true, in: session)
                outcome.changed.append((move.object, move.object.relabelled(Data(move.label.utf8))))
            }
            return outcome
        } commit: { writer, outcome in
            let attributes = try inherit(succession, policy, writer, keys)
            if let known = succession.leaf { try updateRow(.certificate, known, attributes, [], writer, keys) }
            return try outcome.added.map { object in
                let isLeaf = object.certificateDER == certificate.der
                return try record(Item(.certificate, isLeaf ? attributes : [:]), object, writer, keys)
            }
        }
        let own = Criteria(.identity, [.publicKeyHash: .data(certificate.publicKey.identifier)])
        guard let item = try findOnToken(own).first(where: { $0.certificateDER == certificate.der }) else {
            throw KeychainError(.failed, "the identity was stored and cannot be found again.")
        }
        return IdentityInstallation(
            identity: Identity(item: item), isUnchanged: missing.isEmpty && succession.moves.isEmpty,
            kept: succession.predecessors.map(\.label),
            addedCertificates: added.filter { $0.certificateDER != certificate.der }.map { CertificateItem(item: $0) },
            chain: try self.chain(of: certificate, with: chain))
    }

    /// What the new version takes over from the one before, which is then without it.
    private func inherit(
        _ succession: Succession, _ policy: RenewalPolicy?, _ writer: any StoreWriter, _ keys: VaultKeys
    ) throws -> ItemAttributes {
        let names: [AttributeName] = [.renewalPolicy, .preferredServices]
        var attributes = ItemAttributes()
        for (object, _) in succession.predecessors {
            guard let row = try row(.certificate, of: object, writer, keys) else { continue }
            let (_, stored) = try keys.openAttributes(row)
            attributes[.comment] = stored[.comment]
            for name in names { attributes[name] = stored[name] }
            try updateRow(.certificate, object, [:], names, writer, keys)
        }
        if let policy { attributes[.renewalPolicy] = .data(try JSONEncoder().encode(policy)) }
        return attributes
    }
}

/// Who bears a name after a certificate has taken it over.
private struct Succession {
    /// Certificates that get another label, the one that takes the name first.
    var moves: [(object: TokenObject, label: String)] = []
    /// Certificates that bore the name, and what they are called from now on.
    var predecessors: [(object: TokenObject, label: String)] = []
    /// The certificate's object, where it is on the token already.
    var leaf: TokenObject?

    init() {}

    /// - Throws: `KeyFileError` where what bears the name is no certificate.
    init(of name: String, _ certificate: Certificate, among objects: [TokenObject]) throws {
        let hashes = Set(objects.filter { $0.objectClass == .privateKey }.map { $0.publicKeyHash ?? $0.id })
        func bearsName(_ object: TokenObject) -> Bool { object.label?.text == name }
        leaf = objects.first { $0.certificateDER == certificate.der }
        if let leaf, !bearsName(leaf) { moves.append((leaf, name)) }
        // A certificate without a key that bears the name is nobody's version.
        let others = objects.filter { object in
            object.objectClass == .certificate && bearsName(object) && object.certificateDER != certificate.der
                && (object.publicKeyHash.map { hashes.contains($0) } ?? false)
        }
        var taken = Set(objects.compactMap { $0.label?.text })
        for other in others {
            let label = IdentityVersion.label(name, try other.certificate.notAfter, taken: taken)
            taken.insert(label)
            predecessors.append((other, label))
            moves.append((other, label))
        }
    }
}
