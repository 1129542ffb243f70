package import Foundation
import KeyfobPrimitives
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
        let leaf = NewObject(certificate: certificate, label: .string(name))
        // A root is trusted because somebody chose to, never because it came along.
        let above = CertificateChain.order(leaf: certificate, candidates: chain).certificates.dropFirst()
            .filter { !$0.isSelfSigned }
        let authorities = above.map { NewObject(certificate: $0, label: $0.ownName.map { .string($0) }) }
        var missing: [NewObject] = []
        var succession = Succession()
        var present: [TokenObject] = []
        let added = try token.retryingMomentaryFailures {
            try writer(keys).perform(.create) { objects in
                let objects = try recognizing(objects)
                present = objects
                guard objects.contains(where: { $0.isSame(as: key) }) else {
                    throw KeychainError(.itemNotFound, "the key was removed by another program meanwhile.")
                }
                let bearers = try Succession.bearers(
                    of: name, besides: certificate, among: objects, called: fingerprints(calledOnlyInRows: name, keys))
                guard bearers.isEmpty || !isFirst else { throw isTaken(name) }
                if let renewed, !bearers.contains(where: { $0.certificateDER == renewed.der }),
                    !objects.contains(where: { $0.certificateDER == certificate.der && $0.label == .string(name) })
                {
                    // An issuer takes its time, and who imports, installs or puts back a version does not wait for
                    // the lock of orders: what they chose since is not to be undone.
                    throw Self.changed(name, "the certificate that was issued for the version before is not installed.")
                }
                succession = try Succession(
                    of: name, certificate, among: objects,
                    replacing: predecessors(
                        of: certificate, named: name, bearers, renewing: renewed, among: objects, keys))
                missing = ([leaf] + authorities).filter { new in !objects.contains { new.isSame(as: $0) } }
                guard !missing.isEmpty || !succession.moves.isEmpty else { return nil }
                return TokenPlan(kind: .install, objects: missing.map(\.planned) + succession.planned)
            } change: { session, _ in
                // First what takes the name over: programs that know nothing of plans find two for a moment, never
                // none.
                var outcome = TokenWriter.Outcome(added: try missing.map { try self.create($0, in: session) })
                outcome.changed = try relabel(succession, in: session)
                return outcome
            } commit: { writer, outcome in
                let ancestors = succession.ancestors(of: certificate, renewing: renewed)
                let inheritance = try inherit(succession, from: ancestors, name, policy, writer, keys)
                try rename(succession, name, writer, keys)
                if let known = succession.leaf { try bequeath(inheritance, to: known, name, writer, keys) }
                try bequeathKeys(of: ancestors, to: certificate.publicKey, among: present, writer, keys)
                let known = present.filter { object in authorities.contains { $0.isSame(as: object) } }
                try share(known, inheritance, writer, keys)
                return try record(outcome.added, leaf: certificate, called: name, inheritance, writer, keys)
            }
        }
        var own = Criteria(.identity, [.publicKeyHash: .data(certificate.publicKey.identifier)])
        own.includesSynchronizable = true
        guard let item = try findOnToken(own).first(where: { $0.certificateDER == certificate.der }) else {
            throw KeychainError(.failed, "the identity was stored and cannot be found again.")
        }
        return IdentityInstallation(
            identity: Identity(item: item), isUnchanged: missing.isEmpty && succession.isEmpty,
            kept: succession.predecessors.map(\.label),
            predecessors: succession.predecessors.map { $0.object.certificateDER ?? Data() },
            addedCertificates: added.filter { $0.certificateDER != certificate.der }.map { CertificateItem(item: $0) },
            chain: try self.chain(of: certificate, with: chain))
    }

    /// Gives certificates the labels that a succession says, and returns what changed.
    func relabel(
        _ succession: Succession, in session: borrowing Session
    ) throws -> [(before: TokenObject, after: TokenObject)] {
        var changed: [(before: TokenObject, after: TokenObject)] = []
        for (move, planned) in zip(succession.moves, succession.planned)
        where !changed.contains(where: { $0.before.isCopy(of: move.object) }) {
            for handle in try token.handles(ofAll: move.object, in: session) {
                try token.setLabel(Data(move.label.utf8), of: handle, isCopied: planned.isCopied == true, in: session)
                changed.append((move.object, move.object.relabelled(Data(move.label.utf8))))
            }
        }
        return changed
    }

    /// The fingerprints of certificates of which an item bears a name, whatever the object is called.
    func fingerprints(calledOnlyInRows name: String, _ keys: VaultKeys) throws -> Set<Data> {
        try fingerprints(ofItemsLabelledLike: Criteria(.certificate, [.label: .string(name)]), keys)
    }

    /// Gives items that have labels of their own the ones that a succession says: several may share an object.
    func rename(_ succession: Succession, _ name: String, _ writer: any StoreWriter, _ keys: VaultKeys) throws {
        for (object, label) in succession.predecessors {
            for (row, attributes) in try labelledRows(object, keys, writer) {
                guard attributes[.hasOwnLabel] != nil, attributes[.label] == .string(name) else { continue }
                var row = row
                try row.relabel(.certificate, of: object, keys) { _ in .own(.string(label)) }
                try writer.update(row)
            }
        }
        guard let leaf = succession.leaf else { return }
        let rows = try labelledRows(leaf, keys, writer)
        let labels = rows.map { $0.attributes[.hasOwnLabel] == nil ? name : $0.attributes[.label]?.text }
        guard var first = rows.first?.row, !labels.contains(name) else { return }
        try first.relabel(.certificate, of: leaf, keys) { _ in .object(.string(name)) }
        try writer.update(first)
    }
}

/// Who bears a name after a certificate has taken it over.
struct Succession {
    /// Certificates that get another label, the one that takes the name first.
    var moves: [(object: TokenObject, label: String)] = []
    /// Certificates that bore the name, and what they are called from now on.
    var predecessors: [(object: TokenObject, label: String)] = []
    /// The certificate's object, where it is on the token already.
    var leaf: TokenObject?
    /// The moves, as the plan of a change has them.
    private(set) var planned: [TokenPlan.Object] = []
    /// Whether nobody gets another name.
    var isEmpty: Bool { moves.isEmpty && predecessors.isEmpty }

    /// Nobody made room.
    init() {}

    /// Those of the predecessors whose next version a certificate is: the one that is renewed, else those of the same
    /// key. Else the name alone tells, and it is all of them.
    func ancestors(of certificate: Certificate, renewing renewed: Certificate? = nil) -> [TokenObject] {
        let all = predecessors.map(\.object)
        if let renewed, let one = all.first(where: { $0.certificateDER == renewed.der }) { return [one] }
        let ofKey = all.filter { $0.publicKeyHash == certificate.publicKey.identifier }
        return ofKey.isEmpty ? all : ofKey
    }

    /// The certificates that bear a name, besides one.
    ///
    /// - Parameter called: The fingerprints of certificates of which an item bears the name, whatever they are called.
    static func bearers(
        of name: String, besides certificate: Certificate, among objects: [TokenObject], called: Set<Data>
    ) -> [TokenObject] {
        let hashes = Set(objects.filter { $0.objectClass == .privateKey }.map(\.keyIdentifier))
        // A certificate without a key that bears the name is nobody's version.
        return objects.filter { object in
            object.objectClass == .certificate
                && (object.label == .string(name) || called.contains(object.fingerprint))
                && object.certificateDER != certificate.der
                && (object.publicKeyHash.map { hashes.contains($0) } ?? false)
        }
    }

    /// - Parameter others: Those of the bearers of the name that make room.
    /// - Throws: `KeyFileError` where one of them is no certificate.
    init(
        of name: String, _ certificate: Certificate, among objects: [TokenObject], replacing others: [TokenObject]
    ) throws {
        func bearsName(_ object: TokenObject) -> Bool { object.label == .string(name) }
        leaf = objects.first { $0.certificateDER == certificate.der }
        if let leaf, !bearsName(leaf) { moves.append((leaf, name)) }
        var taken = Set(objects.compactMap { $0.label?.text })
        for other in others {
            let label = IdentityVersion.label(name, try other.certificate.notAfter, taken: taken)
            taken.insert(label)
            predecessors.append((other, label))
            if bearsName(other) { moves.append((other, label)) }
        }
        planned = moves.map { TokenPlan.Object($0.object, newLabel: Data($0.label.utf8), among: objects) }
    }
}
