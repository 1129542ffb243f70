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
    /// Blocks for as long as the issuer takes. The key is generated under the label `NAME@next` and takes the name
    /// together with its certificate, in one step: a process that is killed at any instant leaves the whole identity or
    /// none, and at most a key that waits, which the next attempt uses.
    ///
    /// - Parameter report: Takes note of the issuer's steps.
    /// - Throws: `KeychainError`; `duplicateItem` where an identity or a key has the name, `invalidArgument` for a name
    ///   or an extension that cannot be written, `issuerFailed`, `identityMismatch` where the issuer gave a certificate
    ///   for another key, and as for generating a key.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func createIdentity(
        _ name: String, _ specification: IdentitySpecification, issuer: any CertificateIssuer,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) throws -> IdentityInstallation {
        try checkIsFree(name)
        let (key, isNew) = try pendingKey(name, specification.key)
        do {
            let issued = try certificate(
                for: key, specification.subject, specification.extensions, specification.lifetime, issuer, report)
            return try install(
                name, key: try object(of: key), certificate: issued.certificate, chain: issued.chain,
                policy: RenewalPolicy(issuer: issuer.issuerDescription, lifetime: specification.lifetime))
        } catch {
            throw abandoning(key, isNew: isNew, of: name, after: error, issuer)
        }
    }

    /// Renews an identity: a new certificate under its name, for the same key or a new one.
    ///
    /// The version before is kept as `NAME@` and the day on which it expires, until `retire`. Subject, names and usages
    /// are those of the certificate that is renewed.
    ///
    /// - Parameters:
    ///   - key: Which key; `nil` does what was done the last time, at first the same key.
    ///   - lifetime: In seconds; `nil` does what was done the last time.
    ///   - issuer: Who issues it.
    /// - Throws: `KeychainError`; `refused` for an older version, and as `createIdentity`.
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
        let old = try identity.certificate()
        let policy = identity.renewalPolicy
        let renewsKey = key.map { $0 != .same } ?? policy?.renewsKey ?? false
        var extensions = old.renewableExtensions
        let pending: (key: TokenKey, isNew: Bool)?
        if renewsKey {
            var wanted: KeySpecification?
            if case .new(let specification) = key { wanted = specification }
            let specification = try wanted ?? KeySpecification(old.publicKey.algorithm)
            pending = try pendingKey(name, specification)
            // What only RSA can do must not be promised of another key.
            if case .rsa = specification.kind {} else { extensions.keyUsage?.remove(.keyEncipherment) }
        } else {
            pending = nil
        }
        let next = try pending?.key ?? tokenKey(for: identity)
        // An issuer of ours gives what it gave before; others have rules of their own.
        let span = lifetime ?? policy?.lifetime ?? old.notAfter.timeIntervalSince(old.notBefore)
        do {
            let issued = try certificate(for: next, old.subject, extensions, span, issuer, report)
            return try install(
                name, key: try object(of: next), certificate: issued.certificate, chain: issued.chain,
                policy: RenewalPolicy(
                    issuer: issuer.issuerDescription, renewsKey: renewsKey, lifetime: lifetime ?? policy?.lifetime))
        } catch {
            guard let pending else { throw error }
            throw abandoning(pending.key, isNew: pending.isNew, of: name, after: error, issuer)
        }
    }

    /// Makes an identity. - Throws: As the blocking form.
    @discardableResult
    public func createIdentity(
        _ name: String, _ specification: IdentitySpecification, issuer: any CertificateIssuer,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws -> IdentityInstallation {
        try await run { try self.createIdentity(name, specification, issuer: issuer, report: report) }
    }

    /// Renews an identity. - Throws: As the blocking form.
    @discardableResult
    public func renewIdentity(
        _ identity: Identity, key: RenewalKey? = nil, lifetime: TimeInterval? = nil, issuer: any CertificateIssuer,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws -> IdentityInstallation {
        try await run {
            try self.renewIdentity(identity, key: key, lifetime: lifetime, issuer: issuer, report: report)
        }
    }

    // MARK: Steps

    private func certificate(
        for key: TokenKey, _ subject: DistinguishedName, _ extensions: CertificateExtensions,
        _ lifetime: TimeInterval?, _ issuer: any CertificateIssuer, _ report: @escaping @Sendable (String) -> Void
    ) throws -> IssuedCertificate {
        let request = try certificationRequest(with: key, subject, extensions)
        let issued = try issuer.issue(
            CertificateOrder(request: request, key: key, lifetime: lifetime, report: report))
        guard issued.certificate.publicKey == key.publicKey else {
            throw KeychainError(.identityMismatch, "the issuer gave a certificate for another key.")
        }
        return issued
    }

    /// The key that waits for the name's next certificate, generated now unless an interrupted attempt left one.
    private func pendingKey(_ name: String, _ specification: KeySpecification) throws -> (TokenKey, isNew: Bool) {
        let label = IdentityVersion.pending(name)
        let known = try privateKeys(label: label)
        guard let first = known.first else {
            return (try tokenKey(for: generateKey(specification, label: label, isLabelUnique: true)), true)
        }
        let key = try tokenKey(for: first)
        guard known.count == 1, key.publicKey.algorithm.description == specification.description else {
            throw KeychainError(
                .duplicateItem, "an interrupted attempt has left a key \"\(label)\" of another kind.",
                hint: "Remove it: keyfob key rm \(label)", details: ["key": label])
        }
        return (key, false)
    }

    /// The error of an attempt that failed. A key that was made for it goes, unless a certificate for it may be on
    /// its way: an issuer elsewhere may have answered without our knowing.
    private func abandoning(
        _ key: TokenKey, isNew: Bool, of name: String, after error: any Error, _ issuer: any CertificateIssuer
    ) -> any Error {
        let isLocal = switch issuer.issuerDescription {
        case .itself, .authority: true
        case .command, .acme: false
        }
        guard isNew, isLocal else { return error }
        // The first error is the one to report; a key that cannot be removed is used by the next attempt.
        if let item = try? privateKeys(label: IdentityVersion.pending(name)).first { try? delete(item) }
        return error
    }

    private func privateKeys(label: String) throws -> [KeyItem] {
        try findOnToken(Criteria(.key, [.label: .string(label), .keyClass: .number(KeyClass.private.rawValue)]))
            .map { KeyItem(item: $0) }
    }

    private func object(of key: TokenKey) throws -> TokenObject {
        // Read anew: the label is part of what is compared.
        guard let object = try index.objects(keys()).first(where: { $0.isSame(as: key.object) }) else {
            throw KeychainError(.itemNotFound, "the key is no longer on token \"\(token.label)\".")
        }
        return object
    }

    private func checkIsFree(_ name: String) throws {
        guard !name.isEmpty else { throw KeychainError(.invalidArgument, "an identity needs a name.") }
        guard IdentityVersion.name(ofVersion: name) == nil, !name.hasSuffix("@next") else {
            throw KeychainError(
                .invalidArgument, "a name does not end in @next or in @ and a day: versions of identities are called so.")
        }
        guard try findOnToken(Criteria(.identity, [.label: .string(name)])).isEmpty else {
            throw KeychainError(
                .duplicateItem, "identity \"\(name)\" already exists in keychain \"\(self.name)\".",
                hint: "Renew it: keyfob identity renew \(name)", details: ["name": name, "keychain": self.name])
        }
        guard try privateKeys(label: name).isEmpty else {
            throw KeychainError(
                .duplicateItem, "a key \"\(name)\" exists already on token \"\(token.label)\", without a certificate.",
                hint: "Ask for one: keyfob key csr \(name), then keyfob identity install \(name) --cert FILE",
                details: ["key": name, "token": token.label])
        }
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
