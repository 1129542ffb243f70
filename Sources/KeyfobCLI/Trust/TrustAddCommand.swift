import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// `keyfob trust add`: trusts a certificate.
struct TrustAddCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "add", "Trust a certificate.",
        examples: Examples(
            "keyfob trust add corp-ca.pem", "keyfob trust add corp-ca.pem --for server --for client --name corp-ca",
            "keyfob trust add corp-ca.pem --scope system"),
        discussion: """
            The certificate is stored in the keychain if it is not there yet. --scope system, which needs root, writes \
            it to where update-ca-certificates finds it, so that all programs of the machine trust it. Usages that are \
            already trusted stay trusted; to remove them: keyfob trust rm. A certificate that is not an authority's is \
            trusted only after a question, or with --yes.
            """)

    /// The scope of the trust: this keychain, or all programs of the machine.
    enum Scope: String, CaseIterable, ExpressibleByArgument { case user, system }

    @Argument(help: "A file, or name, fingerprint, common name or PKCS#11 URI of a certificate in the keychain.")
    var certificate: CertificateSource

    @Option(name: .customLong("for"), help: "The usage: server, client, email, …; any by default. May be repeated.")
    var usages: [UsageName] = []

    @Option(help: "The scope: user (this keychain) or system (the whole machine).")
    var scope: Scope = .user

    @Option(
        name: .customLong("name"),
        help: "The name; by default the certificate's own. A certificate in the keychain keeps its name.")
    var label: String?

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        if let label { try NewName.check(label) }
        if scope == .system, !usages.isEmpty {
            throw ValidationError("The system's store has no usages: --for requires --scope user.")
        }
    }

    func run(_ output: Output) throws {
        if scope == .system { try SystemTrustStore.requireRoot(name: certificate.text) }
        // With `--scope system`, the keychain is opened only to look up a name.
        let opened: Keychain? = try scope == .user ? global.openKeychain() : nil
        let (anchor, others, name) = try certificate.load(waiting: global.timeout) {
            try opened ?? global.openKeychain()
        }
        guard others.isEmpty else {
            throw UsageError(
                "\(TerminalSafe.text(name)) contains \(others.count + 1) certificates; only one can be trusted at a "
                    + "time.",
                hint: "Put the one to trust into a separate file.")
        }
        let now = Date()
        try CertificatePhrases.requireValid(
            anchor, name: name, on: now, remark: "A certificate that is not valid now cannot make others trusted.")
        if let label, let opened {
            try NewName.requireFree(label, for: anchor, among: opened.find(.certificates), in: opened)
        }
        let subject = TerminalSafe.text(CertificatePhrases.subject(anchor))
        let question = "Trust \"\(subject)\" (sha256:\(anchor.sha256Fingerprint.hexadecimal.prefix(16))…)"
        let refusal = "the certificate was not trusted."
        // Roots of version 1 cannot say that they are authorities.
        if anchor.isCA || anchor.version < 3 && anchor.isSelfSigned {
            try Confirmation(global).requireOfPerson(question + "?", else: refusal)
        } else {
            // Usually a mistake for the authority, and the trust ends with this certificate.
            try Confirmation(global).require(
                question + ", which is the certificate of one host or person and not an authority?", else: refusal)
        }
        guard let keychain = opened else {
            let action: Effect.Action = SystemTrustStore.contains(anchor) ? .none : .create
            let path = try global.dryRun
                ? SystemTrustStore.path(of: anchor)
                : SystemTrustStore.add(anchor) { try RenewalHook.run($0, limit: RenewalHook.limit(global.timeout)) }
            return try output.emit(
                document(action, anchor, on: now, file: path),
                sentence: global.dryRun
                    ? "Would trust \"\(subject)\"."
                    : "All programs of this machine now trust \"\(subject)\" (\(path)).")
        }
        guard !global.dryRun else {
            let known = try keychain.find(.certificates).first { $0.der == anchor.der }?.label
            let before = try keychain.trust.anchors().first { $0.certificate == anchor }?.usages ?? []
            let usages = usages(after: before)
            return try output.emit(
                document(
                    Self.action(from: before.map(\.rawValue), to: usages), anchor, on: now, keychain: keychain,
                    name: known ?? label ?? anchor.ownName, usages: usages),
                sentence: "Would trust \"\(subject)\".")
        }
        // Usages are only added; `trust rm` removes them.
        let (trusted, before) = try keychain.trust.addAnchor(anchor, for: usages.map(\.usage), label: label)
        var words = trusted.usages == [.any] ? "all uses" : trusted.usages.map(\.rawValue).joined(separator: ", ")
        var hint = ""
        if !usages.isEmpty, before.contains(.any) {
            words += ", as before"
            let word = try keychain.trust.word(for: anchor, called: trusted.item.label)
            hint = "\n    To trust it for less, remove it first: "
                + Wording(keychain: keychain.name).command(.distrust(word))
        }
        if let label, let name = trusted.item.label, name != label {
            words += ". It was already stored as \"\(TerminalSafe.text(name))\" and keeps that name"
        }
        try output.emit(
            document(
                Self.action(from: before.map(\.rawValue), to: trusted.usages.map(\.rawValue)), anchor, on: now,
                keychain: keychain, name: trusted.item.label, usages: trusted.usages.map(\.rawValue)),
            sentence: "\"\(TerminalSafe.text(keychain.name))\" now trusts \"\(subject)\" for \(words).\(hint)")
    }

    /// The action that changes the usages for which a certificate is trusted.
    private static func action(from before: [String], to after: [String]) -> Effect.Action {
        Set(before) == Set(after) ? .none : before.isEmpty ? .create : .update
    }

    /// The usages after the command: the new ones and the existing ones.
    private func usages(after before: [CertificateUsage]) -> [String] {
        let all = Set((before + usages.map(\.usage)).map(\.rawValue))
        let everything = CertificateUsage.any.rawValue
        return usages.isEmpty || all.contains(everything) ? [everything] : all.sorted()
    }

    /// The document. Members of the other scope are null.
    private func document(
        _ action: Effect.Action, _ anchor: Certificate, on date: Date, file: String? = nil,
        keychain: Keychain? = nil, name: String? = nil, usages: [String]? = nil
    ) -> Document {
        let members: Members = [
            "scope": scope.rawValue, "file": file, "keychain": keychain?.name, "name": name, "usages": usages,
        ]
        return Document(global.effect(action), members + CertificatePhrases.members(anchor, on: date))
    }
}
