public import Foundation
import KeyfobPrimitives
public import OpenSSL
import PKCS11

/// What an identity that is to be made shall be.
public struct IdentitySpecification: Sendable {
    /// Whom the certificate is for; may be empty where there are alternative names.
    public var subject: DistinguishedName
    /// Names, usages and constraints.
    public var extensions: CertificateExtensions
    /// The kind of key that is generated.
    public var key: KeySpecification
    /// For how long the certificate is valid, in seconds; `nil` leaves it to the issuer.
    public var lifetime: TimeInterval?

    /// An identity with a key of P-256.
    public init(
        subject: DistinguishedName, extensions: CertificateExtensions, key: KeySpecification = .p256,
        lifetime: TimeInterval? = nil
    ) {
        self.subject = subject
        self.extensions = extensions
        self.key = key
        self.lifetime = lifetime
    }
}

/// Which key the next version of an identity has.
public enum RenewalKey: Sendable, Hashable {
    /// The same as before.
    case same
    /// A new one of this kind; `nil` for the same kind as before.
    case new(KeySpecification?)
}

/// Making identities and renewing them.
extension Keychain {
    /// Makes an identity: a key on the token, a request, a certificate by an issuer, and both under one name.
    ///
    /// Blocks for as long as the issuer takes. A process that is killed at any instant leaves the whole identity or
    /// none, and at most a key of the name without a certificate, which the next attempt uses.
    ///
    /// - Parameter report: Takes note of the issuer's steps.
    /// - Throws: `KeychainError`; `duplicateItem` where an identity has the name, or a key of another kind that has no
    ///   certificate, `vaultBusy` while another process orders a certificate for the name, `invalidArgument` for a name
    ///   or an extension that cannot be written or that an ACME server does not certify, `issuerFailed`, also where an
    ///   issuer elsewhere gave a certificate that has expired, is not valid yet or lacks a name, `identityMismatch`
    ///   where the issuer gave a certificate for another key, and as for generating a key.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func createIdentity(
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
            let request = try certificationRequest(with: key, subject, specification.extensions)
            let issued = try certificate(
                CertificateOrder(
                    request: request, key: key, lifetime: specification.lifetime, report: report, name: name,
                    isKeyNew: isNew || isOrdered(key, for: name)),
                issuer)
            let made = try install(
                name, key: try object(of: key), certificate: issued.certificate, chain: issued.chain,
                policy: RenewalPolicy(issuer: issuer.issuerDescription, lifetime: specification.lifetime),
                isFirst: true)
            forgetOrder(for: name, report)
            return made
        } catch {
            throw abandoning(key, isNew: isNew, after: error, issuer)
        }
    }

    /// Renews an identity: a new certificate under its name, for the same key or a new one.
    ///
    /// The version before is kept as `NAME@` and the day on which it expires, until `retire`. Subject, names and usages
    /// are those of the certificate that is renewed, and so are access groups, accessibility and what else was said of
    /// certificate and key: whoever sees the version before sees the next one. An ACME server is asked for the names
    /// alone, and chooses the subject.
    ///
    /// - Parameters:
    ///   - key: Which key; `nil` does what was done the last time, at first the same key, and goes on with the key of a
    ///     renewal that was interrupted while an ACME server issued the certificate.
    ///   - lifetime: In seconds; `nil` does what was said the last time. Where nobody has said anything the issuer
    ///     decides; a certificate that was imported lives as long as it did.
    ///   - issuer: Who issues it.
    /// - Throws: `KeychainError`; `refused` for an older version, `vaultBusy` where another process renews the identity
    ///   for longer than the keychain waits, or the name is another certificate's by now, `issuerFailed` also where an
    ///   issuer elsewhere gave the certificate that is in use, and as `createIdentity`. The name stays with the version
    ///   in use then.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func renewIdentity(
        _ identity: Identity, key: RenewalKey? = nil, lifetime: TimeInterval? = nil, issuer: any CertificateIssuer,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) throws -> IdentityInstallation {
        guard let name = identity.label, identity.nameOfVersion == nil else {
            throw KeychainError(
                .refused, "an older version is not renewed.", hint: "Renew the version in use.",
                details: ["name": identity.label ?? ""])
        }
        return try ordering(name, replacing: identity.der) {
            try renewed(identity, name, key, lifetime, issuer, report)
        }
    }

    private func renewed(
        _ identity: Identity, _ name: String, _ key: RenewalKey?, _ lifetime: TimeInterval?,
        _ issuer: any CertificateIssuer, _ report: @escaping @Sendable (String) -> Void
    ) throws -> IdentityInstallation {
        let old = try identity.certificate()
        let policy = identity.renewalPolicy
        let renewsKey = try renewsKey(of: identity, key)
        var extensions = old.renewableExtensions
        let subject = try issuer.issuerDescription.requestedSubject(
            old.subject, for: extensions.subjectAlternativeNames, isAskedFor: false)
        let pending: (key: TokenKey, isNew: Bool)?
        if renewsKey {
            var wanted: KeySpecification?
            if case .new(let specification) = key { wanted = specification }
            if wanted == nil, let ordered = try orderedKey(for: name) {
                pending = (try tokenKey(for: ordered), false)
            } else {
                pending = try pendingKey(
                    name, wanted ?? KeySpecification(old.publicKey.algorithm), isFirst: false,
                    isLocal: issuer.issuerDescription.isLocal)
            }
            extensions.others.removeAll { $0.type == .subjectKeyIdentifier }
            // What only RSA can do must not be promised of another key.
            if case .rsa = pending?.key.publicKey.algorithm {} else { extensions.keyUsage?.remove(.keyEncipherment) }
        } else {
            pending = nil
        }
        let next = try pending?.key ?? tokenKey(for: identity)
        let span: TimeInterval?
        if lifetime != nil || policy != nil {
            // Not the old certificate's: its authority may have been about to end.
            span = lifetime ?? policy?.lifetime
        } else {
            // Of one that was made elsewhere it is the owner's choice, from now on too. What issuers of ours add at
            // the beginning must not make it grow.
            span = max(1, old.notAfter.timeIntervalSince(old.notBefore) - AuthorityIssuer.clockTolerance)
        }
        do {
            let request = try certificationRequest(with: next, subject, extensions)
            let issued = try certificate(
                CertificateOrder(
                    request: request, key: next, lifetime: span, report: report, name: name,
                    isKeyNew: pending != nil),
                issuer, replacing: old)
            let made = try install(
                name, key: try object(of: next), certificate: issued.certificate, chain: issued.chain,
                policy: RenewalPolicy(
                    issuer: issuer.issuerDescription, renewsKey: renewsKey, lifetime: span), renewing: old)
            forgetOrder(for: name, report)
            return made
        } catch {
            guard let pending else { throw error }
            throw abandoning(pending.key, isNew: pending.isNew, after: error, issuer, renewing: name)
        }
    }

    /// Makes an identity. Where the task is cancelled the issuer is not waited for any longer than what it has begun
    /// takes: a request, or a command that makes a DNS record.
    ///
    /// - Throws: As the blocking form; `cancelled`.
    @discardableResult
    public func createIdentity(
        _ name: String, _ specification: IdentitySpecification, issuer: any CertificateIssuer,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws -> IdentityInstallation {
        try await runPatiently {
            try self.createIdentity(
                name, specification, issuer: CancellableIssuer(issuer, isStopped: $0), report: report)
        }
    }

    /// Renews an identity. What a cancelled task does is told at `createIdentity`.
    ///
    /// - Throws: As the blocking form; `cancelled`.
    @discardableResult
    public func renewIdentity(
        _ identity: Identity, key: RenewalKey? = nil, lifetime: TimeInterval? = nil, issuer: any CertificateIssuer,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws -> IdentityInstallation {
        try await runPatiently {
            try self.renewIdentity(
                identity, key: key, lifetime: lifetime, issuer: CancellableIssuer(issuer, isStopped: $0),
                report: report)
        }
    }

    // MARK: Steps

    /// The subject of the request for an identity that is to be made. - Throws: As `requestedSubject` of the issuer.
    private func requestedSubject(
        _ specification: IdentitySpecification, _ issuer: any CertificateIssuer
    ) throws -> DistinguishedName {
        try issuer.issuerDescription.requestedSubject(
            specification.subject, for: specification.extensions.subjectAlternativeNames, isAskedFor: true)
    }

    /// - Parameter old: The certificate that is renewed.
    private func certificate(
        _ order: CertificateOrder, _ issuer: any CertificateIssuer, replacing old: Certificate? = nil
    ) throws -> IssuedCertificate {
        let issued = try issuer.issue(order)
        guard issued.certificate.publicKey == order.key.publicKey else {
            throw KeychainError(.identityMismatch, "the issuer gave a certificate for another key.")
        }
        // What this process makes itself is what was asked for, however short that is.
        guard !issuer.issuerDescription.isLocal else { return issued }
        if let failure = KeychainError.shortfall(of: issued.certificate, for: order.request, replacing: old) {
            throw failure
        }
        return issued
    }

    /// A key of the name that has no certificate, such as an interrupted attempt leaves; else a new one.
    ///
    /// The key for an issuer of ours stays out of all lists until its certificate is there. The key for an issuer
    /// elsewhere is an item, since the certificate may come much later; for a renewal it is recorded before it is made.
    private func pendingKey(
        _ name: String, _ specification: KeySpecification, isFirst: Bool, isLocal: Bool
    ) throws -> (TokenKey, isNew: Bool) {
        if let waiting = try waitingKey(name, specification, isFirst: isFirst) { return (waiting, false) }
        let keys = try keys()
        let objects = try index.objects(keys)
        let label = try isFirst ? name : IdentityVersion.label(name, Date()) {
            try isNameTaken($0, among: objects, keys)
        }
        if !isFirst, !isLocal { PendingOrders(self).note(PendingOrder(keyCalled: label), for: name) }
        do {
            let key = isLocal ? try generateKeyAwaitingCertificate(specification, label: label)
                : try generateKey(specification, label: label, isLabelUnique: true)
            return (try tokenKey(for: key), true)
        } catch let error as KeychainError where isFirst && error.code == .duplicateItem {
            throw try explaining(error, of: name)
        }
    }

    /// The error for a name that a key has, where it is an identity's key still.
    private func explaining(_ error: KeychainError, of name: String) throws -> KeychainError {
        // Whoever removes an identity keeps its older versions, and the key that they share with it.
        guard let version = try versions(of: name).first(where: { $0.nameOfVersion != nil })?.label else {
            return error
        }
        return KeychainError(
            .duplicateItem,
            "key \"\(name)\" is on token \"\(token.label)\" still: older versions of the identity have it.",
            hint: "Destroy them: keyfob identity retire \(ShellWord.operand(name)). "
                + "Or go on with one: keyfob identity use \(ShellWord.operand(version))",
            details: error.details, cause: error)
    }

    /// A key of the name that has no certificate; `nil` where there is none.
    ///
    /// - Parameter isFirst: Whether it is for an identity that is to be made, of which an earlier attempt has left a
    ///   key under its very name. A renewal takes none but its own. Any other may be one that somebody replaced because
    ///   it is not to be used any more.
    /// - Throws: `KeychainError` with code `duplicateItem` where it is not as one that would be made, or one of several.
    private func waitingKey(
        _ name: String, _ specification: KeySpecification, isFirst: Bool
    ) throws -> TokenKey? {
        let order = PendingOrders(self)[name]
        let objects = try index.objects(keys())
        let certified = Set(objects.filter { $0.objectClass == .certificate }.compactMap(\.publicKeyHash))
        let waiting = try findOnToken(Criteria(.key, [.keyClass: .number(KeyClass.private.rawValue)])).filter { item in
            guard let object = item.object, let label = item.attributes[.label]?.text else { return false }
            let isNamed = label.isIdentical(to: name)
            guard isNamed || IdentityVersion.isVersion(label, of: name) else { return false }
            guard isFirst && isNamed || order?.isMade(object.keyIdentifier, called: label) ?? false else {
                return false
            }
            return !certified.contains(object.keyIdentifier)
        }
        guard let first = waiting.first else {
            guard isFirst, let left = try keyAwaitingCertificate(named: name) else { return nil }
            let key = try tokenKey(for: left)
            return key.publicKey.algorithm.description == specification.description ? key : nil
        }
        let label = first.attributes[.label]?.text ?? name
        let key = try tokenKey(for: KeyItem(item: first))
        guard waiting.count == 1, key.publicKey.algorithm.description == specification.description,
            !KeyItem(item: first).isExtractable
        else {
            throw KeychainError(
                .duplicateItem,
                "a key \"\(label)\" without a certificate exists already on token \"\(token.label)\", of another kind.",
                hint: "Name its kind, or remove it: keyfob key rm \(ShellWord.operand(label))",
                details: ["key": label, "token": token.label])
        }
        return key
    }

    /// Refuses what `createIdentity` would refuse before an issuer has anything to say, and what an authority of ours
    /// would say of the request, and changes nothing.
    ///
    /// What stands in the way of a signature nobody knows without one: the constraints of those above an authority.
    ///
    /// - Throws: As it does.
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
            let isTaken = try index.objects(keys()).contains { object in
                [.privateKey, .secretKey].contains(object.objectClass) && object.label?.bytes == Data(name.utf8)
            }
            guard !isTaken else { throw try explaining(keyExists(name), of: name) }
            // Any will do: what can be written into a request does not depend on the key.
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

    /// The error of an attempt that failed. A key that was made for it goes, unless a certificate for it may be on
    /// its way: an issuer elsewhere may have answered without our knowing. Then the error says that the key is kept.
    ///
    /// - Parameter name: The name of an identity that was to be renewed: the key is used again if it is on record.
    private func abandoning(
        _ key: TokenKey, isNew: Bool, after error: any Error, _ issuer: any CertificateIssuer,
        renewing name: String? = nil
    ) -> any Error {
        let isLocal = issuer.issuerDescription.isLocal
        guard isNew || !isLocal else { return error }
        // What failed may have come after the certificate was stored.
        guard let objects = try? index.objects(keys()) else { return error }
        let isCertified = objects.contains { object in
            object.objectClass == .certificate && object.publicKeyHash == key.publicKey.identifier
        }
        guard !isCertified else {
            // The first error is the one to report. A key that stays unlisted is a finding of a check.
            if isLocal { try? list(key) }
            return error
        }
        if isLocal {
            let isOwn = { (unfinished: UnfinishedObject) in
                unfinished.matches(key.object) || unfinished.isHalf(of: key.object)
            }
            // The first error is the one to report; a key that cannot be removed is used by the next attempt.
            try? writer(keys()).discardPending(where: isOwn)
        }
        let own = Criteria(
            .key, [.keyClass: .number(KeyClass.private.rawValue), .applicationLabel: .data(key.publicKey.identifier)])
        guard let item = try? findOnToken(own).first else { return error }
        if !isLocal {
            let label = item.attributes[.label]?.text ?? ""
            let isUsedAgain = name.map { name in
                PendingOrders(self)[name]?.isMade(key.publicKey.identifier, called: label) ?? false
            } ?? true
            // Where the record could not be written, each attempt would leave one more that nobody goes on with.
            guard isNew, !isUsedAgain else { return Self.keeping(item, isUsedAgain: isUsedAgain, after: error) }
        }
        // As above.
        try? delete(KeyItem(item: item))
        return error
    }

    /// Makes an item of a key that awaited its certificate.
    private func list(_ key: TokenKey) throws {
        let keys = try keys()
        try writer(keys).perform(.change) { _ in [] } change: { _, _, _ in
            TokenWriter.Outcome()
        } commit: { writer, _ in
            try listKey(key.object, writer, keys)
        }
    }

    /// The error of an attempt whose key is kept, with what can be done with that.
    private static func keeping(_ key: Item, isUsedAgain: Bool, after error: any Error) -> any Error {
        guard let error = error as? KeychainError, let label = key.attributes[.label]?.text else { return error }
        let remark = "The key is kept: \(isUsedAgain ? "the same command goes on with it, " : "")"
            + "keyfob key rm \(ShellWord.operand(label)) removes it."
        return KeychainError(
            error.code, error.message, hint: [error.hint, remark].compactMap(\.self).joined(separator: "\n"),
            details: error.details, cause: error.cause)
    }

    private func object(of key: TokenKey) throws -> TokenObject {
        // Read anew: the label is part of what is compared.
        guard let object = try recognizing(index.objects(keys())).first(where: { $0.isSame(as: key.object) }) else {
            throw KeychainError(.itemNotFound, "the key is no longer on token \"\(token.label)\".")
        }
        return object
    }

    /// Refuses a name that no new identity can have.
    ///
    /// - Throws: `KeychainError`; `duplicateItem` where there is an identity of the name, `invalidArgument`.
    private func checkIsFree(_ name: String) throws {
        guard !name.isEmpty else { throw KeychainError(.invalidArgument, "an identity needs a name.") }
        guard IdentityVersion.name(ofVersion: name) == nil else {
            throw KeychainError(
                .invalidArgument, "a name does not end in @ and a day: older versions of identities are called so.")
        }
        if let known = try findOnToken(Criteria(.identity, [.label: .string(name)])).first {
            throw isTaken(name, by: Identity(item: known))
        }
    }

    /// The error for a name that an identity has already.
    ///
    /// - Parameter identity: That one; `nil` for one that was made a moment ago, and is renewed by who issued it.
    func isTaken(_ name: String, by identity: Identity? = nil) -> KeychainError {
        KeychainError(
            .duplicateItem, "identity \"\(name)\" already exists in keychain \"\(self.name)\".",
            hint: identity?.renewalHint("Renew it") ?? "Renew it: keyfob identity renew \(ShellWord.operand(name))",
            details: ["name": name, "keychain": self.name])
    }
}

extension KeySpecification {
    /// The kind of a key that is there.
    ///
    /// - Throws: `KeychainError` with code `mechanismUnsupported` for kinds that are not generated.
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
