import ArgumentParser
import Foundation
import Keyfob
import KeyfobOpenSSL

/// `keyfob identity use`: prefers an identity for a service, or puts an older version back into use.
struct IdentityUseCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "use", "Prefer an identity for a service, or put an older version back into use.",
        examples: Examples(
            "keyfob identity use api --service https://example.org/api", "keyfob identity use api@2026-05-02",
            "keyfob identity use api --service mail.example.org --json"),
        discussion: """
            A service is a URL, the beginning of one, a host, *.DOMAIN for all hosts below it, or an e-mail address; \
            the most specific preference applies. Without --service, NAME must be an older version (keyfob identity \
            ls). It becomes the version in use, and the previous one is kept.
            """)

    @Argument(help: "Name, fingerprint, common name or PKCS#11 URI.", completion: NameCompletion.identities)
    var name: ItemName

    @Option(help: ArgumentHelp("The service to prefer it for.", valueName: "url"))
    var service: String?

    @Flag(help: "Use a version even if it has expired or is not valid yet.")
    var allowExpired = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard service == nil || !allowExpired else {
            throw ValidationError("--allow-expired and --service exclude each other.")
        }
    }

    func run(_ output: Output) throws {
        let service = try service.map { try ServiceName($0).text }
        let keychain = try global.openKeychain()
        let identity = try name.identity(in: keychain)
        let label = identity.label ?? name.text
        if let service {
            let isChange = try global.dryRun
                ? !keychain.identities.isPreferred(identity, for: service)
                : keychain.identities.prefer(identity, for: service)
            return try output.emit(
                Document(global.effect(isChange ? .update : .none), ["name": label, "service": service]),
                sentence: "\"\(TerminalSafe.text(label))\" \(global.dryRun ? "would be" : "is") preferred for "
                    + "\(TerminalSafe.text(service)).")
        }
        guard let current = identity.nameOfVersion else {
            let document = try IdentityPhrases.document(global.effect(.none), identity, keychain)
            return try output.emit(document, sentence: "Nothing to do: \"\(TerminalSafe.text(label))\" is in use.")
        }
        if !allowExpired { try CertificatePhrases.requireValid(identity.certificate(), name: label, on: Date()) }
        guard !global.dryRun else {
            let document = try IdentityPhrases.document(global.effect(.update), identity, keychain)
            return try output.emit(document, sentence: "Dry run: nothing was changed.")
        }
        let made = try keychain.identities.use(identity)
        let kept = made.kept.map { " The previous one is kept as \(TerminalSafe.text($0))." }.joined()
        let trust = try keychain.trust.stale(by: made)
        let remark = trust.map { "\nNote: \(IdentityPhrases.sentence($0, keychain))" } ?? ""
        let document = try IdentityPhrases.document(
            global.effect(.update), made.identity, keychain, kept: made.kept, trust: trust)
        try output.emit(
            document,
            sentence: "\"\(TerminalSafe.text(current))\" is now the certificate of \(TerminalSafe.text(label))."
                + "\(kept)\(remark)")
    }
}

/// `keyfob identity retire`: destroys older versions of an identity.
struct IdentityRetireCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "retire", "Destroy older versions of an identity.",
        examples: Examples(
            "keyfob identity retire api", "keyfob identity retire api@2026-05-02 --yes",
            "keyfob identity retire --all --expired"),
        discussion: """
            A renewal keeps the previous version, for connections that still use it. Retiring it also destroys its key, \
            unless another certificate needs the key. The version in use is never retired (see keyfob identity rm), \
            nor is a version of an authority that is trusted or that issued a certificate in use.
            """)

    @Argument(
        help: "Name or fingerprint of the identity for all its older versions, or of one version.",
        completion: NameCompletion.identities)
    var name: String?

    @Flag(help: "The older versions of all identities, except those that are still needed.")
    var all = false

    @Flag(help: "Only versions that have expired.")
    var expired = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        if all, name != nil { throw ValidationError("--all and a name exclude each other.") }
        guard all || name != nil else { throw ValidationError("Name an identity, or give --all.") }
    }

    func run(_ output: Output) throws {
        let keychain = try global.openKeychain()
        let now = Date()
        var versions = try name.map { try named($0, in: keychain) } ?? keychain.identities.unneededVersions()
        // A version that several access groups can access is several items.
        var seen: Set<Data> = []
        versions = versions.filter { seen.insert($0.der).inserted }
        if expired { versions = try versions.filter { try $0.certificate().notAfter < now } }
        let labels = versions.compactMap(\.label)
        if !versions.isEmpty {
            try keychain.identities.requireUnneeded(versions)
            let list = labels.map { "\"\($0)\"" }.joined(separator: ", ")
            try Confirmation(global).require("Destroy \(list) on token \"\(keychain.tokenLabel)\"?")
            if !global.dryRun { try Self.retire(versions, in: keychain, output) }
        }
        let verb = global.dryRun ? "Would retire" : "Retired"
        try output.emit(
            Document(global.effect(labels.isEmpty ? .none : .delete), ["name": name, "retired": labels]),
            sentence: labels.isEmpty
                ? "Nothing to do: "
                    + (name.map { "\"\(TerminalSafe.text($0))\" has no" } ?? "there is no unneeded")
                    + " \(expired ? "expired" : "older") version."
                : "\(verb) \(labels.map { TerminalSafe.text($0) }.joined(separator: ", ")).")
    }

    /// Destroys the versions. After an error, the output and the error's details name those that are destroyed.
    private static func retire(_ versions: [Identity], in keychain: Keychain, _ output: Output) throws {
        var retired: [String] = []
        for version in versions {
            do { try keychain.identities.retire(version) } catch let error as KeychainError where !retired.isEmpty {
                try output.say("Retired \(retired.map { TerminalSafe.text($0) }.joined(separator: ", ")).")
                throw error.with(details: error.details.merging(["retired": retired.joined(separator: "\n")]) { $1 })
            }
            if let label = version.label { retired.append(label) }
        }
    }

    /// Returns the named version, or the older versions of the named identity.
    ///
    /// Only versions of one owner are returned, because other owners may use the same name.
    ///
    /// - Throws: `KeychainError.ambiguous` if several owners have versions of that name and no current identity has it.
    private func named(_ name: String, in keychain: Keychain) throws -> [Identity] {
        if try keychain.find(.identity(label: name)).isEmpty {
            let orphans = try keychain.identities.versions(of: name)
            if let first = orphans.first {
                let own = try keychain.identities.versions(of: first)
                guard own.count == orphans.count else {
                    throw KeychainError(
                        .ambiguous,
                        "no identity is called \"\(name)\", and the older versions belong to several identities.",
                        hint: "Name each: " + Wording(keychain: keychain.name).keyfob("cert ls --all"),
                        details: ["name": name])
                }
                return own
            }
        }
        let identity = try ItemName(name).identity(in: keychain)
        guard identity.nameOfVersion == nil else { return [identity] }
        return try keychain.identities.versions(of: identity).filter { $0.nameOfVersion != nil }
    }
}
