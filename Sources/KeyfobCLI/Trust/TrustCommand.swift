import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives
import OpenSSL

/// `keyfob trust`: whom to trust.
struct TrustCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "trust", "Whom to trust, besides the system's authorities.",
        examples: Examples(
            "keyfob trust add corp-ca.pem --for server", "keyfob trust ls", "keyfob trust rm corp-ca"),
        discussion: "Trust is sealed in the keychain: a program that merely writes to the token cannot add any.",
        subcommands: [
            TrustAddCommand.self, TrustListCommand.self, TrustRemoveCommand.self, TrustExportCommand.self,
        ])
}

/// `keyfob trust add`: trusts a certificate.
struct TrustAddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "add", "Trust a certificate.",
        examples: Examples(
            "keyfob trust add corp-ca.pem", "keyfob trust add corp-ca.pem --for server --for client --name corp-ca",
            "keyfob trust add corp-ca.pem --scope system"),
        discussion: """
            The certificate is stored in the keychain unless it is there. With --scope system it is written where \
            update-ca-certificates finds it, which makes every program of the machine trust it: needs root. What it is \
            trusted for already it stays trusted for: keyfob trust rm.
            """)

    /// Who is going to trust it.
    enum Scope: String, CaseIterable, ExpressibleByArgument { case user, system }

    @Argument(help: "A file, or name, fingerprint, common name or PKCS#11 URI of a certificate in the keychain.")
    var certificate: CertificateSource

    @Option(name: .customLong("for"), help: "What for: server, client, email, …; any unless given. May be repeated.")
    var usages: [UsageName] = []

    @Option(help: "Who trusts it: user (this keychain) or system (the whole machine).")
    var scope: Scope = .user

    @Option(
        name: .customLong("name"),
        help: "The name; without one, the certificate's own. One that is in the keychain already keeps its name.")
    var label: String?

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        if let label { try NewName.requireNoURI(label) }
        if scope == .system, !usages.isEmpty {
            throw ValidationError("The system's store knows no usages: --for is for --scope user.")
        }
    }

    func run() throws {
        let output = try global.output()
        if scope == .system { try SystemTrustStore.requireRoot(name: certificate.name) }
        let keychain = try global.openKeychain()
        let (anchor, others, name) = try certificate.load(from: keychain)
        guard others.isEmpty else {
            throw UsageError(
                "\(Visible.text(name)) holds \(others.count + 1) certificates; trust is given to one at a time.",
                hint: "Write the one you mean to a file of its own.")
        }
        let now = Date()
        if let failure = CertificatePhrases.failure(
            anchor, name: name, on: now, remark: "One that is not valid makes nobody trusted.")
        {
            throw failure
        }
        let subject = Visible.text(CertificatePhrases.subject(anchor))
        try Confirmation(global).requireOfPerson(
            "Trust \"\(subject)\" (sha256:\(anchor.sha256Fingerprint.lowercaseHexadecimal.prefix(16))…)?")
        guard !global.dryRun else {
            return try output.emit(
                Document(
                    members: [
                        .init("scope", .string(scope.rawValue)), .init("changed", false), .init("dry_run", true),
                    ] + CertificatePhrases.members(anchor, on: now)),
                sentence: "Would trust \"\(subject)\".")
        }
        if scope == .system {
            let path = try SystemTrustStore.add(anchor)
            return try output.emit(
                Document(members: [
                    .init("scope", "system"), .init("file", .string(path)), .init("changed", true),
                    .init("dry_run", false),
                ]
                    + CertificatePhrases.members(anchor, on: now)),
                sentence: "Every program of this machine trusts \"\(subject)\" now (\(path)).")
        }
        // Added to what it is trusted for: to take something away is `trust rm`.
        let (trusted, before) = try keychain.addTrust(anchor, for: usages.map(\.usage), label: label)
        let isChanged = Set(before) != Set(trusted.usages)
        var words = trusted.usages.map(\.rawValue).joined(separator: ", ")
        var hint = ""
        if !usages.isEmpty, before.contains(.any) {
            words += ", as before"
            let name = "sha256:" + anchor.sha256Fingerprint.lowercaseHexadecimal.prefix(16)
            hint = "\n    For less, take it away first: keyfob trust rm \(ShellWord.quoted(trusted.item.label ?? name))"
        }
        if let label, let name = trusted.item.label, name != label {
            words += ". It was there already, as \"\(Visible.text(name))\", and keeps that name"
        }
        try output.emit(
            Document(
                members: [
                    .init("scope", "user"), .init("keychain", .string(keychain.name)),
                    .init("name", .optional(trusted.item.label)),
                    .init("usages", .array(trusted.usages.map { .string($0.rawValue) })),
                    .init("changed", .boolean(isChanged)), .init("dry_run", false),
                ] + CertificatePhrases.members(anchor, on: now)),
            sentence: "Keychain \"\(Visible.text(keychain.name))\" trusts \"\(subject)\" now, for: \(words).\(hint)")
    }
}

/// `keyfob trust ls`: whom the keychain trusts.
struct TrustListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "ls", "List whom the keychain trusts.",
        examples: Examples("keyfob trust ls", "keyfob trust ls --json", "keyfob trust ls --keychain site"),
        aliases: ["list"])

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run() throws {
        let output = try global.output()
        let keychain = try global.openKeychain()
        let now = Date()
        let anchors = try keychain.trustAnchors()
        var table = Table([
            .init("NAME", mayShrink: true), .init("SUBJECT", mayShrink: true), .init("FOR"), .init("EXPIRES"),
            .init("STATE"), .init("SHA-256"),
        ])
        for anchor in anchors {
            let state = CertificatePhrases.State(anchor.certificate, on: now)
            table.add([
                .init(anchor.item.label ?? ""), .init(CertificatePhrases.subject(anchor.certificate)),
                .init(anchor.usages.map(\.rawValue).joined(separator: ", ")),
                .init(Phrases.relative(anchor.certificate.notAfter, to: now)), .init(state.rawValue, state.style),
                .init(String(anchor.certificate.sha256Fingerprint.lowercaseHexadecimal.prefix(16))),
            ])
        }
        let document = Document([
            "keychain": .string(keychain.name),
            "anchors": .array(
                anchors.map { anchor in
                    .object(
                        [
                            .init("name", .optional(anchor.item.label)),
                            .init("usages", .array(anchor.usages.map { .string($0.rawValue) })),
                        ] + CertificatePhrases.members(anchor.certificate, on: now))
                }),
        ])
        try output.emit(document, table: table)
    }
}

/// `keyfob trust rm`: trusts a certificate no longer.
struct TrustRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "rm", "No longer trust a certificate.",
        examples: Examples(
            "keyfob trust rm corp-ca", "keyfob trust rm sha256:9a11 --yes", "keyfob trust rm corp-ca --dry-run"),
        discussion: "The certificate stays in the keychain, as one that nobody trusts: keyfob cert rm removes it.",
        aliases: ["remove", "delete"])

    @Argument(help: "A file, or name, fingerprint, common name or PKCS#11 URI.")
    var certificate: CertificateSource

    @Flag(help: "Succeed where nobody trusts it, or there is no such certificate.")
    var ifExists = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run() throws {
        let output = try global.output()
        let keychain = try global.openKeychain()
        let (anchor, name) = try find(in: keychain)
        let isTrusted = try anchor.map { anchor in
            try keychain.trustAnchors().contains { $0.certificate == anchor }
        } ?? false
        guard isTrusted || ifExists else {
            throw KeychainError(
                .itemNotFound,
                "nobody trusts \"\(Visible.text(name))\" in keychain \"\(keychain.name)\".",
                hint: "Whom it trusts: keyfob trust ls", details: ["name": name, "keychain": keychain.name])
        }
        if isTrusted, !global.dryRun, let anchor { try keychain.distrust(anchor) }
        let shown = Visible.text(name)
        try output.emit(
            Document([
                "name": .string(name), "changed": .boolean(isTrusted && !global.dryRun),
                "dry_run": .boolean(global.dryRun),
            ]),
            sentence: !isTrusted
                ? "Nothing to do: nobody trusts \"\(shown)\" in keychain \"\(Visible.text(keychain.name))\"."
                : global.dryRun
                    ? "Would no longer trust \"\(shown)\"." : "No longer trusted: \"\(shown)\". The certificate stays.")
    }

    /// The certificate; none with `--if-exists` where there is no such one.
    private func find(in keychain: Keychain) throws -> (certificate: Certificate?, name: String) {
        do {
            let (found, _, name) = try certificate.load(from: keychain)
            return (found, name)
        } catch let error as KeychainError where ifExists && error.code == .itemNotFound {
            return (nil, certificate.name)
        }
    }
}

/// `keyfob trust export`: the anchors as a bundle.
struct TrustExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "export", "Write the certificates that the keychain trusts, for other programs.",
        examples: Examples(
            "keyfob trust export > anchors.pem", "keyfob trust export --for server -o anchors.pem",
            "keyfob trust export --json"))

    @Option(name: .customLong("for"), help: "Only those trusted for this: server, client, email, …")
    var usage: UsageName = .any

    @OptionGroup var file: OutputFileOptions

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run() throws {
        let output = try global.output()
        let keychain = try global.openKeychain()
        let anchors = try keychain.trustAnchors(for: usage.usage)
        let text = anchors.map(\.certificate.pem).joined()
        try file.write(
            SecretBytes(utf8: text),
            document: Document([
                "file": .optional(file.path), "dry_run": .boolean(global.dryRun), "count": .count(anchors.count),
                "pem": .string(text),
            ]),
            sentence: "Wrote \(Visible.text(file.name)): \(Phrases.counted(anchors.count, "certificate")).",
            isDryRun: global.dryRun, output)
    }
}
