import ArgumentParser
import Keyfob
import KeyfobManifest
import KeyfobPrimitives

/// `keyfob plan`: shows what an apply would change.
struct PlanCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "plan", "Show what has to be done so that a keychain is as a manifest describes it.",
        examples: Examples(
            "keyfob plan site.yaml", "keyfob plan site.yaml --exit-code --quiet",
            "keyfob plan site.yaml secrets.d -o site.plan"),
        discussion: """
            Changes nothing. Each member that differs is named; a secret is compared, and never shown. With -v, the \
            entries that stay are shown too. A first manifest: keyfob manifest init
            With -o, the plan is also saved. keyfob apply carries it out as long as nothing else has to be done; it \
            contains no secret.
            """)

    @OptionGroup var files: ManifestFiles

    @Flag(help: "End with status 10 if there is something to do.")
    var exitCode = false

    @Flag(help: "Remove protected secrets and certificates, and destroy protected keys, where the manifest says so.")
    var unprotect = false

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp("A file to save the plan to, for keyfob apply.", valueName: "file"), completion: .file())
    var path: String?

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        let contents = try files.contents(global)
        let unprotects = unprotect || contents.plan?.unprotects ?? false
        let session = try ManifestSession(contents.manifest, global, unprotects: unprotects)
        try contents.plan?.require(session.plan, for: contents.manifest.keychain)
        let report = PlanReport(manifest: contents.manifest, plan: session.plan)
        if let path, !global.dryRun {
            let saved = SavedPlan(
                session.plan, for: contents.manifest.keychain, paths: try files.absolutePaths(),
                texts: contents.texts, unprotects: unprotects)
            // The names of secrets are not for others.
            try FileDestination(path: path, mode: 0o600, timeout: global.timeout).write(SecretBytes(saved.data))
        }
        try report.emit(isVerbose: global.verbose > 0, output)
        if exitCode, !session.plan.isEmpty { throw ExitCode(ExitStatus.attention.rawValue) }
    }
}

extension PlanReport {
    /// Prints a plan that was not carried out.
    func emit(isVerbose: Bool, _ output: Output) throws {
        try output.emit(
            document(isDryRun: true),
            sentence: (lines(isVerbose: isVerbose) + [summary]).joined(separator: "\n"))
    }
}
