import ArgumentParser
import Keyfob
import KeyfobManifest

/// `keyfob plan`: shows what an apply would change.
struct PlanCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "plan", "Show what has to be done so that a keychain is as a manifest describes it.",
        examples: Examples(
            "keyfob plan site.yaml", "keyfob plan site.yaml --exit-code --quiet",
            "keyfob plan site.yaml secrets.d --json"),
        discussion: """
            Changes nothing. Each member that differs is named; a secret is compared, and never shown. With -v, the \
            entries that stay are shown too. A first manifest: keyfob manifest init
            """)

    @OptionGroup var files: ManifestFiles

    @Flag(help: "End with status 10 if there is something to do.")
    var exitCode = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        let manifest = try files.manifest(global)
        let session = try ManifestSession(manifest, global)
        let report = PlanReport(manifest: manifest, plan: session.plan)
        try report.emit(isVerbose: global.verbose > 0, output)
        if exitCode, !session.plan.isEmpty { throw ExitCode(ExitStatus.attention.rawValue) }
    }
}

extension PlanReport {
    /// Prints a plan that was not carried out.
    func emit(isVerbose: Bool, _ output: Output) throws {
        try output.emit(
            document(isDone: false, isDryRun: true),
            sentence: (lines(isVerbose: isVerbose) + [summary]).joined(separator: "\n"))
    }
}
