public import Foundation
import KeyfobPrimitives
public import KeyfobOpenSSL
import PKCS11

/// The specification of an identity to create.
public struct IdentitySpecification: Sendable {
    /// The subject of the certificate; may be empty if there are alternative names.
    public var subject: DistinguishedName
    /// Names, usages and constraints.
    public var extensions: CertificateExtensions
    /// The kind of key to generate.
    public var key: KeySpecification
    /// The lifetime of the certificate in seconds; `nil` leaves it to the issuer.
    public var lifetime: TimeInterval?
    /// When its renewal is due; `nil` for the usual time.
    public var renewalTime: RenewalTime?

    /// Creates a specification, with a P-256 key by default.
    public init(
        subject: DistinguishedName, extensions: CertificateExtensions, key: KeySpecification = .p256,
        lifetime: TimeInterval? = nil, renewalTime: RenewalTime? = nil
    ) {
        self.subject = subject
        self.extensions = extensions
        self.key = key
        self.lifetime = lifetime
        self.renewalTime = renewalTime
    }
}

/// The key of an identity's next version.
public enum RenewalKey: Sendable, Hashable {
    /// The current key.
    case same
    /// A new key of this kind; `nil` for the kind of the current key.
    case new(KeySpecification?)
}

/// Creating and renewing identities.
extension KeychainIdentities {
    /// Creates an identity: a key on the token, a request, and a certificate from an issuer, both under one name.
    ///
    /// Blocks for as long as the issuer takes. A process killed at any instant leaves the whole identity or none. It
    /// leaves at most a key of that name without a certificate, which the next attempt uses.
    ///
    /// - Parameter report: Called with each finished step of the issuer.
    /// - Throws: `KeychainError`; `duplicateItem` if an identity has the name, or a key of another kind without a
    ///   certificate has it, `vaultBusy` while another process orders a certificate for the name, `invalidArgument` for
    ///   a name or extension that cannot be encoded or that the issuer does not certify, `issuerFailed`, also if an
    ///   external issuer gave a certificate that has expired, is not valid yet or lacks a name, `identityMismatch` if
    ///   the certificate is for another key, and the errors of generating a key.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func create(
        _ name: String, _ specification: IdentitySpecification, issuer: any CertificateIssuer,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) throws -> IdentityInstallation {
        try ordering(name) { try made(name, specification, issuer, report) }
    }

    private func made(
        _ name: String, _ specification: IdentitySpecification, _ issuer: any CertificateIssuer,
        _ report: @escaping @Sendable (String) -> Void
    ) throws -> IdentityInstallation {
        try checkIsFree(name)
        let subject = try requestedSubject(specification, issuer)
        let (key, isNew) = try pendingKey(
            name, specification.key, isFirst: true, isLocal: issuer.issuerDescription.isLocal)
        do {
            let request = try keychain.keys.certificationRequest(with: key, subject, specification.extensions)
            let issued = try certificate(
                CertificateOrder(
                    request: request, key: key, lifetime: specification.lifetime, replaced: nil, report: report,
                    name: name, isKeyNew: isNew || isOrdered(key, for: name)),
                issuer)
            let made = try install(
                name, key: try object(of: key), certificate: issued.certificate, chain: issued.chain,
                policy: RenewalPolicy(
                    issuer: issuer.issuerDescription, lifetime: specification.lifetime,
                    time: specification.renewalTime),
                isFirst: true)
            forgetOrder(for: name, report)
            return made
        } catch {
            throw abandoning(key, isNew: isNew, after: error, issuer)
        }
    }

    /// Renews an identity: a new certificate under its name, for the same key or a new one.
    ///
    /// The current version is kept as `NAME@` and the day on which it expires, until `retire`. Subject, names and
    /// usages are copied from its certificate, unless `changes` has others. Access groups, accessibility and other
    /// attributes of certificate and key are copied too, so the new version is visible to the same callers. An ACME
    /// server is asked for the names only, and chooses the subject.
    ///
    /// - Parameters:
    ///   - key: The key; `nil` repeats the choice of the last renewal, at first the same key. It also resumes with the
    ///     key of a renewal that was interrupted while an ACME server issued the certificate.
    ///   - lifetime: In seconds; `nil` repeats the value of the last renewal. Without one the issuer decides; an
    ///     imported certificate keeps its own lifetime.
    ///   - changes: What the certificate says differently from now on.
    ///   - issuer: The issuer.
    /// - Throws: `KeychainError`; `refused` for an older version, `vaultBusy` if another process renews the identity
    ///   for longer than the timeout, or the name belongs to another certificate by now, `issuerFailed` also if an
    ///   external issuer returned the current certificate, `identityMismatch` if the certificate is for another key,
    ///   and the errors of generating a key. The name stays with the current version then.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func renew(
        _ identity: Identity, key: RenewalKey? = nil, lifetime: TimeInterval? = nil,
        changes: CertificateChanges = CertificateChanges(), issuer: any CertificateIssuer,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) throws -> IdentityInstallation {
        try renew(
            identity, asking: .changed(changes), key: key, lifetime: lifetime, issuer: issuer, report: report)
    }

    /// Like the public form, for any contents of the new certificate.
    ///
    /// - Parameter time: When the next renewal is due; `nil` repeats the choice of the last renewal.
    @available(*, noasync, message: "call it from a thread of your own")
    @discardableResult
    package func renew(
        _ identity: Identity, asking contents: RenewedContents, key: RenewalKey?, lifetime: TimeInterval?,
        time: RenewalTime? = nil, issuer: any CertificateIssuer, report: @escaping @Sendable (String) -> Void
    ) throws -> IdentityInstallation {
        guard let name = identity.label, identity.nameOfVersion == nil else {
            throw KeychainError(
                .refused, "an older version is not renewed.", hint: "Renew the version in use.",
                details: ["name": identity.label ?? ""])
        }
        return try ordering(name, replacing: identity.der) {
            try renewed(identity, name, contents, key, lifetime, time, issuer, report)
        }
    }

    private func renewed(
        _ identity: Identity, _ name: String, _ contents: RenewedContents, _ key: RenewalKey?,
        _ lifetime: TimeInterval?, _ time: RenewalTime?, _ issuer: any CertificateIssuer,
        _ report: @escaping @Sendable (String) -> Void
    ) throws -> IdentityInstallation {
        let old = try identity.certificate()
        let policy = identity.renewalPolicy
        let renewsKey = try renewsKey(of: identity, key)
        var (asked, extensions) = try contents.contents(replacing: old)
        asked = try issuer.requestedSubject(
            asked, for: extensions.subjectAlternativeNames, isAskedFor: contents.hasSubject)
        let pending: (key: TokenKey, isNew: Bool)?
        if renewsKey {
            var wanted: KeySpecification?
            if case .new(let specification) = key { wanted = specification }
            if wanted == nil, let ordered = try orderedKey(for: name) {
                pending = (try keychain.keys.tokenKey(for: ordered), false)
            } else {
                pending = try pendingKey(
                    name, wanted ?? KeySpecification(old.publicKey.algorithm), isFirst: false,
                    isLocal: issuer.issuerDescription.isLocal)
            }
            extensions.others.removeAll { $0.type == .subjectKeyIdentifier }
            // An RSA key can encipher keys; other key types must not claim this usage.
            if case .rsa = pending?.key.publicKey.algorithm {} else { extensions.keyUsage?.remove(.keyEncipherment) }
        } else {
            pending = nil
        }
        let next = try pending?.key ?? keychain.keys.tokenKey(for: identity)
        let span: TimeInterval?
        if lifetime != nil || policy != nil {
            // Not the lifetime of the old certificate, which may have been shortened to the end of its authority.
            span = lifetime ?? policy?.lifetime
        } else {
            // The lifetime of an imported certificate is the owner's choice, and is kept from now on. Our issuers
            // backdate certificates, which must not make the lifetime grow.
            span = max(1, old.notAfter.timeIntervalSince(old.notBefore) - AuthorityIssuer.clockTolerance)
        }
        do {
            let request = try keychain.keys.certificationRequest(with: next, asked, extensions)
            let issued = try certificate(
                CertificateOrder(
                    request: request, key: next, lifetime: span, replaced: old, report: report, name: name,
                    isKeyNew: pending != nil),
                issuer, replacing: old)
            let made = try install(
                name, key: try object(of: next), certificate: issued.certificate, chain: issued.chain,
                policy: RenewalPolicy(
                    issuer: issuer.issuerDescription, renewsKey: renewsKey, lifetime: span,
                    time: time ?? policy?.time),
                renewing: old)
            forgetOrder(for: name, report)
            return made
        } catch {
            guard let pending else { throw error }
            throw abandoning(pending.key, isNew: pending.isNew, after: error, issuer, renewing: name)
        }
    }

    /// Creates an identity.
    ///
    /// If the task is cancelled, this waits only for the step in progress: a request, or a command that makes a DNS
    /// record.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form, and `cancelled`.
    @discardableResult
    public func create(
        _ name: String, _ specification: IdentitySpecification, issuer: any CertificateIssuer,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws -> IdentityInstallation {
        try await keychain.runPatiently {
            try self.create(
                name, specification, issuer: CancellableIssuer(issuer, isStopped: $0), report: report)
        }
    }

    /// Renews an identity.
    ///
    /// If the task is cancelled, this waits only for the step in progress: a request, or a command that makes a DNS
    /// record.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form, and `cancelled`.
    @discardableResult
    public func renew(
        _ identity: Identity, key: RenewalKey? = nil, lifetime: TimeInterval? = nil,
        changes: CertificateChanges = CertificateChanges(), issuer: any CertificateIssuer,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws -> IdentityInstallation {
        try await keychain.runPatiently {
            try self.renew(
                identity, key: key, lifetime: lifetime, changes: changes,
                issuer: CancellableIssuer(issuer, isStopped: $0), report: report)
        }
    }

    // MARK: Steps

    /// The subject of the request for a new identity.
    ///
    /// - Throws: `KeychainError` with code `invalidArgument` for a subject or name that the issuer does not certify.
    private func requestedSubject(
        _ specification: IdentitySpecification, _ issuer: any CertificateIssuer
    ) throws -> DistinguishedName {
        try issuer.requestedSubject(
            specification.subject, for: specification.extensions.subjectAlternativeNames, isAskedFor: true)
    }

    /// - Parameter old: The certificate being renewed.
    private func certificate(
        _ order: CertificateOrder, _ issuer: any CertificateIssuer, replacing old: Certificate? = nil
    ) throws -> IssuedCertificate {
        let issued = try issuer.issue(order)
        guard issued.certificate.publicKey == order.key.publicKey else {
            throw KeychainError(.identityMismatch, "the issuer gave a certificate for another key.")
        }
        // A certificate made by this process is as requested, even if its lifetime is short.
        guard !issuer.issuerDescription.isLocal else { return issued }
        if let failure = KeychainError.defect(of: issued.certificate, for: order.request, replacing: old) {
            throw failure
        }
        return issued
    }

    /// The key of an interrupted attempt under this name, which has no certificate; otherwise a new key.
    ///
    /// A key for a local issuer stays unlisted until its certificate is stored. A key for an external issuer is an
    /// item, since the certificate may come much later. For a renewal it is recorded before it is made.
    private func pendingKey(
        _ name: String, _ specification: KeySpecification, isFirst: Bool, isLocal: Bool
    ) throws -> (TokenKey, isNew: Bool) {
        if let waiting = try waitingKey(name, specification, isFirst: isFirst) { return (waiting, false) }
        let keys = try keychain.vaultKeys()
        let objects = try keychain.index.objects(keys)
        let label = try isFirst ? name : IdentityVersion.label(name, Date()) {
            try isNameTaken($0, among: objects, keys)
        }
        if !isFirst, !isLocal { PendingOrders(keychain).note(PendingOrder(keyCalled: label), for: name) }
        do {
            // A local issuer needs no time, so the key is listed together with its certificate.
            let key = try keychain.keys.generate(
                specification, [.label: .string(label)], publicAttributes: nil, isLabelUnique: true,
                awaitsCertificate: isLocal
            ).privateKey
            return (try keychain.keys.tokenKey(for: key), true)
        } catch let error as KeychainError where isFirst && error.code == .duplicateItem {
            throw try explaining(error, of: name)
        }
    }

    /// The error for a name that a key has, with a better hint if older versions of an identity use that key.
    private func explaining(_ error: KeychainError, of name: String) throws -> KeychainError {
        // Removing an identity keeps its older versions, and the key that they share with it.
        guard let version = try versions(of: name).first(where: { $0.nameOfVersion != nil })?.label else {
            return error
        }
        return KeychainError(
            .duplicateItem,
            "key \"\(name)\" is on token \"\(keychain.token.label)\" still: older versions of the identity have it.",
            remedies: [
                Remedy("Destroy them", .retireIdentity(name)), Remedy("Or go on with one", .useIdentity(version)),
            ],
            details: error.details, cause: error)
    }

    /// The key of that name without a certificate; `nil` if there is none.
    ///
    /// - Parameter isFirst: Whether a new identity is created, for which an earlier attempt left a key of exactly this
    ///   name. A renewal uses only a key that it recorded. Any other key may have been replaced because it must not be
    ///   used any more.
    /// - Throws: `KeychainError` with code `duplicateItem` if the key differs from the one that would be made, or there
    ///   are several.
    private func waitingKey(
        _ name: String, _ specification: KeySpecification, isFirst: Bool
    ) throws -> TokenKey? {
        let order = PendingOrders(keychain)[name]
        let objects = try keychain.index.objects(keychain.vaultKeys())
        let certified = Set(objects.filter { $0.objectClass == .certificate }.compactMap(\.publicKeyHash))
        let waiting = try keychain.tokenItems.findOnToken(
            Criteria(.key, [.keyClass: .number(KeyClass.private.rawValue)])
        ).filter { item in
            guard let object = item.object, let label = item.attributes[.label]?.text else { return false }
            let isNamed = label.isIdentical(to: name)
            guard isNamed || IdentityVersion.isVersion(label, of: name) else { return false }
            guard isFirst && isNamed || order?.isMade(object.keyIdentifier, called: label) ?? false else {
                return false
            }
            return !certified.contains(object.keyIdentifier)
        }
        guard let first = waiting.first else {
            guard isFirst, let left = try keychain.keys.keyAwaitingCertificate(named: name) else { return nil }
            let key = try keychain.keys.tokenKey(for: left)
            return key.publicKey.algorithm.description == specification.description ? key : nil
        }
        let label = first.attributes[.label]?.text ?? name
        let key = try keychain.keys.tokenKey(for: KeyItem(item: first))
        guard waiting.count == 1, key.publicKey.algorithm.description == specification.description,
            !KeyItem(item: first).isExtractable
        else {
            throw KeychainError(
                .duplicateItem,
                "a key \"\(label)\" without a certificate exists already on token "
                    + "\"\(keychain.token.label)\", of another kind.",
                remedies: [Remedy("Name its kind, or remove it", .removeKey(label))],
                details: ["key": label, "token": keychain.token.label])
        }
        return key
    }

    /// Refuses, without changing anything, the arguments that `createIdentity` or a local authority would refuse.
    ///
    /// The constraints of the certificates above an authority are not checked, since this needs a signature.
    ///
    /// - Throws: `KeychainError`; the errors of `createIdentity` for its arguments.
    package func requireCreatable(
        _ name: String, _ specification: IdentitySpecification, issuer: any CertificateIssuer
    ) throws {
        try checkIsFree(name)
        let subject = try requestedSubject(specification, issuer)
        let publicKey: PublicKey
        if let waiting = try waitingKey(name, specification.key, isFirst: true) {
            publicKey = waiting.publicKey
        } else {
            try specification.key.validate()
            let isTaken = try keychain.index.objects(keychain.vaultKeys()).contains { object in
                [.privateKey, .secretKey].contains(object.objectClass) && object.label?.bytes == Data(name.utf8)
            }
            guard !isTaken else { throw try explaining(keychain.keys.keyExists(name), of: name) }
            // Any key will do: whether a request can be encoded does not depend on it.
            publicKey = try PrivateKey.generate(.ec(.p256)).publicKey
        }
        let extensions = specification.extensions
        _ = try KeychainError.describingRequests {
            try UnsignedRequest(subject: subject, publicKey: publicKey, extensions: extensions)
        }
        switch issuer {
        case is SelfIssuer:
            _ = try SelfIssuer.unsigned(subject, publicKey, extensions, lifetime: specification.lifetime)
        case let authority as AuthorityIssuer:
            _ = try authority.unsigned(subject, publicKey, extensions, lifetime: specification.lifetime)
        default: break
        }
    }

    /// Cleans up after a failed attempt and returns the error to throw.
    ///
    /// A key made for the attempt is destroyed, unless a certificate for it may still arrive: an external issuer may
    /// have answered without our knowledge. The error then says that the key is kept.
    ///
    /// - Parameter name: The name of the identity being renewed; its next renewal uses the key if it is on record.
    private func abandoning(
        _ key: TokenKey, isNew: Bool, after error: any Error, _ issuer: any CertificateIssuer,
        renewing name: String? = nil
    ) -> any Error {
        let isLocal = issuer.issuerDescription.isLocal
        guard isNew || !isLocal else { return error }
        // The certificate may have been stored before the failure.
        guard let objects = try? keychain.index.objects(keychain.vaultKeys()) else { return error }
        let isCertified = objects.contains { object in
            object.objectClass == .certificate && object.publicKeyHash == key.publicKey.identifier
        }
        guard !isCertified else {
            // The first error is the one to report. A key that stays unlisted is reported by a check.
            if isLocal { try? list(key) }
            return error
        }
        if isLocal {
            let isOwn = { (unfinished: UnfinishedObject) in
                unfinished.matches(key.object) || unfinished.isHalf(of: key.object)
            }
            // The first error is the one to report. A key that cannot be removed is used by the next attempt.
            try? keychain.writer(keychain.vaultKeys()).discardPending(where: isOwn)
        }
        let own = Criteria(
            .key, [.keyClass: .number(KeyClass.private.rawValue), .applicationLabel: .data(key.publicKey.identifier)])
        guard let item = try? keychain.tokenItems.findOnToken(own).first else { return error }
        if !isLocal {
            let label = item.attributes[.label]?.text ?? ""
            let isUsedAgain = name.map { name in
                PendingOrders(keychain)[name]?.isMade(key.publicKey.identifier, called: label) ?? false
            } ?? true
            // If the record could not be written, each attempt would leave another unused key.
            guard isNew, !isUsedAgain else { return Self.keeping(item, isUsedAgain: isUsedAgain, after: error) }
        }
        // The first error is the one to report.
        try? keychain.delete(KeyItem(item: item))
        return error
    }

    /// Makes an item of a key that awaited its certificate.
    private func list(_ key: TokenKey) throws {
        let keys = try keychain.vaultKeys()
        try keychain.writer(keys).changeRows(commit: { try keychain.tokenItems.listKey(key.object, $0, keys) })
    }

    /// The error of an attempt whose key is kept, with remedies that concern the key.
    private static func keeping(_ key: Item, isUsedAgain: Bool, after error: any Error) -> any Error {
        guard let error = error as? KeychainError, let label = key.attributes[.label]?.text else { return error }
        let remark = isUsedAgain ? "The key is kept, and the next attempt uses it. To remove it"
            : "The key is kept. To remove it"
        return error.with(remedies: error.remedies + [Remedy(remark, .removeKey(label))])
    }

    private func object(of key: TokenKey) throws -> TokenObject {
        // Read again: the label is part of the comparison.
        guard
            let object = try keychain.tokenItems.recognizing(keychain.index.objects(keychain.vaultKeys())).first(
                where: { $0.isSame(as: key.object) })
        else {
            throw KeychainError(.itemNotFound, "the key is no longer on token \"\(keychain.token.label)\".")
        }
        return object
    }

    /// Refuses a name that a new identity cannot have.
    ///
    /// - Throws: `KeychainError`; `duplicateItem` if an identity has the name, `invalidArgument`.
    private func checkIsFree(_ name: String) throws {
        guard !name.isEmpty else { throw KeychainError(.invalidArgument, "an identity needs a name.") }
        guard IdentityVersion.name(ofVersion: name) == nil else {
            throw KeychainError(
                .invalidArgument, "a name does not end in @ and a day: older versions of identities are called so.")
        }
        if let known = try keychain.tokenItems.findOnToken(Criteria(.identity, [.label: .string(name)])).first {
            throw isTaken(name, by: Identity(item: known))
        }
    }

    /// The error for a name that an identity already has.
    ///
    /// - Parameter identity: That identity; `nil` for one that was just created, which its own issuer renews.
    func isTaken(_ name: String, by identity: Identity? = nil) -> KeychainError {
        KeychainError(
            .duplicateItem, "identity \"\(name)\" already exists in keychain \"\(keychain.name)\".",
            remedies: identity?.renewalRemedies("Renew it") ?? [Remedy("Renew it", .renewIdentity(name))],
            details: ["name": name, "keychain": keychain.name])
    }
}

extension KeySpecification {
    /// The kind of an existing key.
    ///
    /// - Throws: `KeychainError` with code `mechanismUnsupported` for kinds that Keyfob does not generate.
    init(_ algorithm: KeyAlgorithm) throws {
        switch algorithm {
        case .rsa(let bits): self = .rsa(bits: bits)
        case .ec(.p256): self = .p256
        case .ec(.p384): self = .p384
        case .ec(.p521): self = .p521
        case .ed25519: self = .ed25519
        default:
            throw KeychainError(
                .mechanismUnsupported, "Keyfob does not generate \(algorithm) keys.",
                hint: "Name another kind, or keep the key.")
        }
    }
}
