import ArgumentParser
import Foundation
import Keyfob
import KeyfobOpenSSL

/// `keyfob identity install`: stores an issued certificate for an existing key.
struct IdentityInstallCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "install", "Install an issued certificate for its key.",
        examples: Examples(
            "keyfob identity install api --cert api.crt --chain chain.pem",
            "keyfob identity install api --cert fullchain.pem",
            "keyfob identity install api --cert - < api.crt"),
        discussion: """
            NAME is the name of a key on the token. A certificate for another key is refused. A root among the files \
            is not stored; to trust it: keyfob trust add. The previous certificate with the name is kept as NAME@DAY \
            until keyfob identity retire.
            """)

    @Argument(help: "The name of the key.")
    var name: String

    @Option(help: ArgumentHelp("The file of the certificate; it may also contain the chain.", valueName: "file"))
    var cert: FileArgument

    @Option(help: ArgumentHelp("Files of the certificates above it.", valueName: "file"))
    var chain: [FileArgument] = []

    @Flag(help: "Install a certificate even if it has expired or is not valid yet.")
    var allowExpired = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        let own = try cert.certificates(waiting: global.timeout)
        let above = try chain.flatMap { try $0.certificates(waiting: global.timeout) }
        let now = Date()
        let keychain = try global.openKeychain()
        // The leaf of a bundle is the certificate for the key. If there is none, the error is about the certificate
        // that issued none of the others.
        let meant = try own.count > 1 ? keychain.identities.certificate(ofKeyNamed: name, among: own, on: now) : nil
        let leaf = meant ?? Certificate.leaf(of: own)
        if !allowExpired { try CertificatePhrases.requireValid(leaf, name: cert.name, on: now) }
        guard !global.dryRun else {
            try keychain.identities.requireInstallable(name, certificate: leaf, fileName: cert.name)
            // The new certificate inherits the renewal policy of the current version.
            let current = try keychain.find(.identity(label: name)).first
            let action: Effect.Action = current.map { $0.der == leaf.der ? .none : .update } ?? .create
            return try output.emit(
                IdentityPhrases.plan(
                    action, name, keychain, issuer: current?.renewalPolicy?.issuer, certificate: leaf
                ).adding(Self.members(leavesRootOut: nil)),
                sentence: "Dry run: nothing was installed.")
        }
        let isNew = try keychain.find(.identity(label: name)).isEmpty
        let made = try keychain.identities.install(
            name, certificate: leaf, chain: own.filter { $0 != leaf } + above, fileName: cert.name)
        let shown = TerminalSafe.text(name)
        // Only stored certificates count, because other programs do not have the files.
        let chain = try keychain.certificates.chain(of: leaf)
        let root = made.chain.isComplete && !chain.isComplete ? made.chain.certificates.last : nil
        let trust = try keychain.trust.stale(by: made)
        var lines: [String] = []
        if made.isUnchanged {
            lines.append("Unchanged: identity \"\(shown)\" already has this certificate.")
        } else {
            lines.append(
                "\(TerminalSafe.text(cert.name)) matches key \"\(shown)\". "
                    + IdentityPhrases.chain(chain, withoutGivenRoot: root != nil)
                    + " Valid until \(RFC3339.localDay(of: leaf.notAfter)).")
            if let root {
                let command = Wording(keychain: keychain.name).command(.trust(nil))
                lines.append(
                    "Its root \(TerminalSafe.text(CertificatePhrases.subject(root))) was not stored. "
                        + "To trust it, put it into a separate file: \(command)")
            }
            lines += made.kept.map { "The previous certificate is kept as \(TerminalSafe.text($0))." }
            if let trust { lines.append("Note: \(IdentityPhrases.sentence(trust, keychain))") }
            lines.append("Identity \"\(shown)\" is ready.")
        }
        let document = try IdentityPhrases.document(
            global.effect(made.isUnchanged ? .none : isNew ? .create : .update), made.identity, keychain,
            kept: made.kept, trust: trust)
        try output.emit(
            document.adding(Self.members(leavesRootOut: root != nil)), sentence: lines.joined(separator: "\n"))
    }

    /// The member that reports a root that was not stored.
    ///
    /// - Parameter leavesRootOut: `nil` if it is not known in advance.
    private static func members(leavesRootOut: Bool?) -> Members { ["root_left_out": leavesRootOut] }
}
