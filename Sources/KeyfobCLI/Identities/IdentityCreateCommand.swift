import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

/// `keyfob identity create`: makes a key on the token and a certificate for it, in one step.
struct IdentityCreateCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "create", "Make a key on the token and a certificate for it, in one step.",
        examples: Examples(
            "keyfob identity create root --cn 'Example Root' --authority --self-signed --lifetime 10y",
            "keyfob identity create web --cn www.example.org --dns www.example.org --issuer root",
            "keyfob identity create web --dns www.example.org --issuer acme:https://… --listen 80 --agree-tos"),
        discussion: """
            The issuer is stored with the identity, so keyfob identity renew needs only the name. An issuer that is a \
            command reads the request (PKCS#10 in PEM) and writes certificates in PEM. If an external issuer fails, \
            the key is kept. The same command, run again, uses that key, and the certificate that an ACME server has \
            issued for it in the meantime. It also uses a key made by keyfob key generate.
            """)

    @Argument(help: "The name of the identity.")
    var name: String

    @OptionGroup(title: "Subject and usage") var wishes: CertificateOptions
    @OptionGroup(title: "Issuer") var issuance: IssuerOptions
    @OptionGroup(title: "The key") var key: NewKeyOptions

    @Flag(help: "Do nothing if an identity has the name.")
    var ifMissing = false

    @Flag(help: "With --if-missing: exit with 10 if the identity differs from the options.")
    var exitCode = false

    @OptionGroup var mixedKeys: MixedKeysOptions

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try NewName.check(name)
        guard !wishes.isEmpty else {
            throw ValidationError("The certificate needs a subject: give --cn, --dns, --ip or --email.")
        }
        if exitCode, !ifMissing { throw ValidationError("--exit-code requires --if-missing.") }
        guard issuance.selfSigned || issuance.issuer != nil else {
            throw ValidationError("The certificate needs an issuer: give --self-signed or --issuer.")
        }
    }

    func run(_ output: Output) throws {
        guard let description = try issuance.description() else { return }
        let specification = IdentitySpecification(
            subject: try wishes.name(), extensions: try wishes.extensions(for: key.algorithm),
            key: key.specification, lifetime: issuance.seconds)
        let keychain = try global.openKeychain()
        if ifMissing, let known = try keychain.find(.identity(label: name)).first {
            return try emit(existing: known, specification, description, in: keychain, output)
        }
        // The key may exist already, from an earlier attempt or from `key generate`; then no key is added.
        if try !keychain.find(.keys.keyClass(.private)).contains(where: { $0.label?.isIdentical(to: name) ?? false }) {
            try mixedKeys.check(adding: [key.kind == .ed25519], to: keychain)
        }
        let issuer = try description.resolved(for: keychain, global, issuance)
        guard !global.dryRun else {
            // A dry run does not contact an external issuer, so its refusal cannot be predicted.
            try keychain.identities.requireCreatable(name, specification, issuer: issuer)
            return try output.emit(
                IdentityPhrases.plan(
                    .create, name, keychain, issuer: description,
                    known: known(specification, issuer: description)
                ).adding(Self.differences(nil)),
                sentence: "Would make identity \"\(TerminalSafe.text(name))\": \(specification.key), "
                    + "issuer \(TerminalSafe.text(description.description)).")
        }
        let made: IdentityInstallation
        do {
            made = try Waiting.notice("issuer \(description.description)", isShown: global.showsProgress) {
                try keychain.identities.create(name, specification, issuer: issuer) { output.tell(step: $0) }
            }
        } catch let error as KeychainError where ifMissing && error.code == .duplicateItem {
            // Another process has made the identity first.
            guard let known = try keychain.find(.identity(label: name)).first else { throw error }
            return try emit(existing: known, specification, description, in: keychain, output)
        }
        let certificate = try made.identity.certificate()
        let now = Date()
        let document = try IdentityPhrases.document(global.effect(.create), made.identity, keychain)
        try output.emit(
            document.adding(Self.differences(nil)),
            sentence: """
                  key     \(specification.key) on "\(TerminalSafe.text(keychain.tokenLabel))", not extractable
                  leaf    \(TerminalSafe.text(CertificatePhrases.subject(certificate))), \
                \(CertificatePhrases.validity(certificate, on: now)), issuer \
                \(TerminalSafe.text(CertificatePhrases.issuer(certificate)))\(remark(certificate, now))
                Identity "\(TerminalSafe.text(name))" is ready.
                """)
        try OpenSSLEngine.warn(of: keychain, output)
    }

    /// The values known before the certificate is made: the requested ones that the issuer cannot change.
    private func known(_ specification: IdentitySpecification, issuer: IssuerDescription) -> Members {
        let names = specification.extensions.subjectAlternativeNames.compactMap { name -> String? in
            if case .dns(let host) = name { host } else { nil }
        }
        var known: Members = ["key": specification.key.description, "dns_names": names]
        guard issuer.isLocal else { return known }
        known += ["is_authority": wishes.authority]
        // A self-signed certificate without a subject gets one of its names as the subject.
        guard !specification.subject.isEmpty else { return known }
        let subject = specification.subject.description
        known += ["subject": subject, "common_name": specification.subject.commonName]
        if issuer == .itself { known += ["issuer": subject] }
        return known
    }

    /// Reports an existing identity, and in what it differs from the options.
    private func emit(
        existing known: Identity, _ specification: IdentitySpecification, _ issuer: IssuerDescription,
        in keychain: Keychain, _ output: Output
    ) throws {
        var issuer = issuer
        // The stored description has the authority's name, which the option may have stated in another way.
        if case .authority = issuer { issuer = try issuer.resolved(for: keychain, global, issuance).issuerDescription }
        let differences = try keychain.identities.differences(of: known, from: specification, issuer: issuer)
        let document = try IdentityPhrases.document(global.effect(.none), known, keychain)
        var lines = ["Nothing to do: identity \"\(TerminalSafe.text(name))\" exists."]
        if !differences.isEmpty {
            lines.append("It differs from the options:")
            lines += differences.map {
                "  \($0.part)   \(TerminalSafe.text($0.current)); wanted: \(TerminalSafe.text($0.wanted))"
            }
            // A renewal makes no authority of an identity.
            if !differences.contains(where: { $0.part == "authority" }) {
                let command = Wording(keychain: keychain.name).command(.renewIdentity(name))
                lines.append("To change it, renew it with these options: \(command) …")
            }
        }
        try output.emit(
            document.adding(Self.differences(differences)), sentence: lines.joined(separator: "\n"))
        if exitCode, !differences.isEmpty { throw ExitCode(ExitStatus.attention.rawValue) }
    }

    /// The member about an existing identity that differs from the options; null for a new one.
    private static func differences(_ differences: [IdentityDifference]?) -> Members {
        [
            "differences": differences?.map { difference -> Members in
                ["member": difference.part, "current": difference.current, "wanted": difference.wanted]
            },
        ]
    }

    /// A note if the issuer granted a shorter lifetime than requested, by more than the day that some issuers subtract
    /// for clock differences.
    private func remark(_ certificate: Certificate, _ now: Date) -> String {
        guard let seconds = issuance.seconds, certificate.notAfter < now + seconds - 86_400 else { return "" }
        return "\n  note    the issuer granted a shorter lifetime than requested"
    }
}

/// Document members and phrases that describe identities after a change.
enum IdentityPhrases {
    /// The document about one identity.
    ///
    /// - Parameter trust: The trust of older versions that this one does not have.
    static func document(
        _ effect: Effect, _ identity: Identity, _ keychain: Keychain, kept: [String] = [], trust: StaleTrust? = nil
    ) throws -> Document {
        let certificate = try identity.certificate()
        let members = Self.members(
            of: identity.label, keychain,
            uri: try keychain.objects.uri(of: identity).description, issuer: identity.renewalPolicy?.issuer, kept: kept,
            trust: trust, chain: try keychain.certificates.chain(of: certificate))
        return Document(
            effect,
            members
                + CertificatePhrases.members(certificate, on: Date(), isReplaced: identity.nameOfVersion != nil))
    }

    /// The document about an identity that a dry run would make: the members of the run, with null for values not known
    /// in advance.
    ///
    /// - Parameters:
    ///   - action: What the run would do.
    ///   - certificate: The certificate, if it exists.
    ///   - known: The values that are known without a certificate, as in `CertificatePhrases.members`.
    static func plan(
        _ action: Effect.Action, _ name: String, _ keychain: Keychain, issuer: IssuerDescription?,
        certificate: Certificate? = nil, known: Members = [:]
    ) -> Document {
        Document(
            Effect(action, isDryRun: true),
            members(of: name, keychain, uri: nil, issuer: issuer, kept: nil, trust: nil, chain: nil)
                + CertificatePhrases.members(certificate, on: Date(), known: known))
    }

    /// The members for a document about an identity.
    ///
    /// - Parameters:
    ///   - kept: The labels of the versions that are kept; `nil` if they are not known in advance.
    ///   - chain: The chain of the stored certificates. The certificates of the issuer or the file may include a root,
    ///     which is not stored.
    private static func members(
        of name: String?, _ keychain: Keychain, uri: String?,
        issuer: IssuerDescription?, kept: [String]?, trust: StaleTrust?, chain: CertificateChain?
    ) -> Members {
        [
            "name": name, "keychain": keychain.name, "token": keychain.tokenLabel, "uri": uri,
            "issuer_policy": issuer?.description, "kept": kept,
            "trust_stays_with": kept.map { _ in trust?.versions ?? [] },
            "hint": trust.map { Wording(keychain: keychain.name).command($0.operation) },
            "chain_complete": chain?.isComplete, "chain_length": chain?.certificates.count,
        ]
    }

    /// States that nothing renews an identity, and when it expires.
    static func unmanaged(_ identity: Identity, _ keychain: Keychain, on date: Date) throws -> String {
        let end = try identity.certificate().notAfter
        let command = Wording(keychain: keychain.name).command(
            .renewIdentity(identity.label ?? "", [.namedIssuer]))
        return "nothing renews \"\(TerminalSafe.text(identity.label ?? ""))\", "
            + "\(end < date ? "which expired" : "which expires") \(Plural.relative(end, to: date)): \(command)"
    }

    /// States that older versions are trusted and the version in use is not.
    static func sentence(_ trust: StaleTrust, _ keychain: Keychain) -> String {
        let versions = trust.versions.map { TerminalSafe.text($0) }.joined(separator: ", ")
        let command = Wording(keychain: keychain.name).command(trust.operation)
        let end = trust.versions.count == 1 ? "which has expired" : "which have expired"
        return "only \(versions) is trusted, \(trust.isExpired ? end : "until it expires"); "
            + "to trust the version in use: \(command)"
    }

    /// States whether the chain is complete, such as `Chain complete (1 intermediate).`
    ///
    /// - Parameters:
    ///   - chain: The chain of the stored certificates. A root that was delivered with the certificate is not stored,
    ///     so it is not included.
    ///   - hasRoot: Whether the root was delivered, so that no other certificate is missing.
    static func chain(_ chain: CertificateChain, withoutGivenRoot hasRoot: Bool = false) -> String {
        guard let last = chain.certificates.last else { return "" }
        let count = max(0, chain.certificates.count - (chain.isComplete ? 2 : 1))
        let counted = Plural.counted(count, "intermediate")
        if chain.isComplete { return chain.certificates.count == 1 ? "Self-signed." : "Chain complete (\(counted))." }
        // Servers do not send the root, and it is usually not stored. A chain up to an authority is sufficient for a
        // server.
        if hasRoot || count > 0 && last.isCA { return "Chain without its root (\(counted))." }
        let issuer = TerminalSafe.text(CertificatePhrases.issuer(last))
        return "No issuer certificate (issuer \(issuer)): keyfob cert import FILE."
    }
}
