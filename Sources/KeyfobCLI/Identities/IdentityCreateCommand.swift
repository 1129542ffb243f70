import ArgumentParser
import Foundation
import Keyfob
import OpenSSL
import PKCS11

/// `keyfob identity create`: a key on the token and a certificate for it, in one step.
struct IdentityCreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "create", "Make a key on the token and a certificate for it, in one step.",
        examples: Examples(
            "keyfob identity create root --cn 'Example Root' --authority --self-signed --lifetime 10y",
            "keyfob identity create web --cn www.example.org --dns www.example.org --issuer root",
            "keyfob identity create web --dns www.example.org --issuer acme:https://… --listen 80 --agree-tos"),
        discussion: """
            The issuer is written down with the identity: keyfob identity renew needs nothing but the name. A command \
            reads the request (PKCS#10 in PEM) and writes certificates in PEM. Where an issuer elsewhere fails, the \
            key is kept, and the same command goes on with it, and with what an ACME server has issued for it \
            meanwhile; so it does with a key of keyfob key generate.
            """)

    @Argument(help: "The name of the identity.")
    var name: String

    @OptionGroup(title: "Whom and what for") var wishes: CertificateWishes
    @OptionGroup(title: "Who issues it") var issuance: IssuerOptions
    @OptionGroup(title: "The key") var key: NewKeyOptions

    @Flag(help: "Succeed and change nothing where an identity has the name.")
    var ifMissing = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try NewName.check(name)
        guard !wishes.isEmpty else { throw ValidationError("A certificate is for somebody: give --cn, --dns, …") }
        guard issuance.selfSigned || issuance.issuer != nil else {
            throw ValidationError("Who issues it? Give --self-signed or --issuer.")
        }
    }

    func run() throws {
        let output = try global.output()
        guard let description = try issuance.description() else { return }
        let specification = IdentitySpecification(
            subject: try wishes.name(), extensions: try wishes.extensions(for: key.algorithm),
            key: key.specification, lifetime: issuance.seconds)
        let keychain = try global.openKeychain()
        if ifMissing, let known = try keychain.find(.identity(label: name)).first {
            return try emit(existing: known, in: keychain, output)
        }
        guard !global.dryRun else {
            try keychain.checkIsFree(name)
            switch description {
            case .authority, .command: _ = try description.resolved(for: keychain, global, issuance)
            // What an authority elsewhere would say, nobody asks it for a trial.
            case .itself, .acme: break
            }
            return try output.emit(
                Document([
                    "dry_run": true, "changed": false, "name": .string(name),
                    "key": .string(specification.key.description),
                    "issuer_policy": .string(description.description),
                ]),
                sentence: "Would make identity \"\(Visible.text(name))\": \(specification.key), "
                    + "issuer \(Visible.text(description.description)).")
        }
        let issuer = try description.resolved(for: keychain, global, issuance)
        let steps = Steps(output)
        let made: IdentityInstallation
        do {
            made = try Waiting.notice("issuer \(description.description)", isShown: global.showsProgress) {
                try keychain.createIdentity(name, specification, issuer: issuer) { steps.add($0) }
            }
        } catch let error as KeychainError where ifMissing && error.code == .duplicateItem {
            // Another process was faster.
            guard let known = try keychain.find(.identity(label: name)).first else { throw error }
            return try emit(existing: known, in: keychain, output)
        }
        let certificate = try made.identity.certificate()
        let now = Date()
        let document = try IdentityPhrases.document(made.identity, isChanged: true, keychain, tellsChain: true)
        try output.emit(
            document,
            sentence: """
                  key     \(specification.key) on "\(Visible.text(keychain.tokenLabel))", not extractable
                  leaf    \(Visible.text(CertificatePhrases.subject(certificate))), \
                \(CertificatePhrases.validity(certificate, on: now)), issuer \
                \(Visible.text(CertificatePhrases.issuer(certificate)))\(remark(certificate, now))
                Identity "\(Visible.text(name))" is ready.
                """)
        try OpenSSLEngine.warn(of: keychain, output)
    }

    private func emit(existing known: Identity, in keychain: Keychain, _ output: Output) throws {
        let document = try IdentityPhrases.document(known, isChanged: false, keychain, isDryRun: global.dryRun)
        try output.emit(document, sentence: "Nothing to do: identity \"\(Visible.text(name))\" exists.")
    }

    /// A line where the issuer gave less than was asked for, by more than what some take off for clocks.
    private func remark(_ certificate: Certificate, _ now: Date) -> String {
        guard let seconds = issuance.seconds, certificate.notAfter < now + seconds - 86_400 else { return "" }
        return "\n  note    the issuer gave less than the lifetime that was asked for"
    }
}

/// Steps of an issuer that takes time, shown with `-v` when they are done.
struct Steps: Sendable {
    private let isShown: Bool

    init(_ output: Output) { isShown = output.verbosity > 0 }

    /// Takes note of a step.
    func add(_ step: String) {
        if isShown { StandardError.write("keyfob: \(Visible.text(step))\n") }
    }
}

/// How identities are described to programs after a change.
enum IdentityPhrases {
    /// The members of a document about one identity.
    ///
    /// - Parameters:
    ///   - trust: The trust that an older version still has, and this one has not.
    ///   - tellsChain: Whether it says how far up the certificates of the keychain reach. What was issued or came in a
    ///     file may reach further: a root among it is not stored.
    static func document(
        _ identity: Identity, isChanged: Bool, _ keychain: Keychain, kept: [String] = [],
        trust: TrustLeftBehind? = nil, tellsChain: Bool = false, isDryRun: Bool = false
    ) throws -> Document {
        var members: [Value.Member] = [
            .init("changed", .boolean(isChanged)), .init("dry_run", .boolean(isDryRun)),
            .init("name", .optional(identity.label)),
            .init("keychain", .string(keychain.name)), .init("token", .string(keychain.tokenLabel)),
            .init("uri", .string(try keychain.uri(of: identity).description)),
            .init("issuer_policy", .optional(identity.renewalPolicy?.issuer.description)),
            .init("kept", .array(kept.map { .string($0) })),
            .init("trust_stays_with", .array((trust?.versions ?? []).map { .string($0) })),
            .init("hint", .optional(trust.map { HintedCommands.naming(keychain.name, in: $0.command) })),
        ]
        if tellsChain {
            let chain = try keychain.chain(of: identity.certificate())
            members.append(.init("chain_complete", .boolean(chain.isComplete)))
            members.append(.init("chain_length", .count(chain.certificates.count)))
        }
        return Document(
            members: members
                + CertificatePhrases.members(
                    try identity.certificate(), on: Date(), isReplaced: identity.nameOfVersion != nil))
    }

    /// That the version in use is not trusted, as one before it is.
    static func sentence(_ trust: TrustLeftBehind, _ keychain: Keychain) -> String {
        let versions = trust.versions.map { Visible.text($0) }.joined(separator: ", ")
        let command = HintedCommands.naming(keychain.name, in: trust.command)
        let end = trust.versions.count == 1 ? "which has expired" : "which have expired"
        return "trust stays with \(versions), \(trust.isExpired ? end : "until that expires"); "
            + "to trust the one in use: \(command)"
    }

    /// `Chain complete (1 intermediate).`, or what is missing.
    ///
    /// - Parameters:
    ///   - chain: As far as the certificates of the keychain reach: a root that merely came along is not among them, so
    ///     that no other command finds it later.
    ///   - hasRoot: Whether it did come along, so that nothing else is missing.
    static func chain(_ chain: CertificateChain, withoutGivenRoot hasRoot: Bool = false) -> String {
        guard let last = chain.certificates.last else { return "" }
        let count = max(0, chain.certificates.count - (chain.isComplete ? 2 : 1))
        let counted = Phrases.counted(count, "intermediate")
        if chain.isComplete { return chain.certificates.count == 1 ? "Self-signed." : "Chain complete (\(counted))." }
        // A root is not sent by servers and mostly not stored: what stands below it is enough to be served.
        if hasRoot || count > 0 && last.isCA { return "Chain without its root (\(counted))." }
        let issuer = Visible.text(CertificatePhrases.issuer(last))
        return "No issuer certificate (issuer \(issuer)): keyfob cert import FILE."
    }
}
