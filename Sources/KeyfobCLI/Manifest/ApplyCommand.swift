import ArgumentParser
import Keyfob
import KeyfobManifest
import KeyfobPrimitives

/// `keyfob apply`: makes a keychain as a manifest describes it.
struct ApplyCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "apply", "Make a keychain as a manifest describes it.",
        examples: Examples(
            "keyfob apply site.yaml", "keyfob apply site.yaml --yes --json", "keyfob apply site.plan"),
        discussion: """
            Shows the plan, and asks at a terminal. The same again changes nothing. If a change fails or the command is \
            interrupted, the same command continues. The programs of onChange run at the end, each once; one that \
            fails runs again at the next apply. Removals need prune: true in the manifest. A plan that keyfob plan -o \
            saved is refused if something else has to be done by now.
            """)

    @OptionGroup var files: ManifestFiles

    @Flag(help: "Allow the keys to be destroyed for which the manifest says rotate: true.")
    var allowDestroyKeys = false

    @Flag(help: "Remove protected secrets and certificates, and destroy protected keys, where the manifest says so.")
    var unprotect = false

    @OptionGroup var mixedKeys: MixedKeysOptions

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        let contents = try files.contents(global)
        let manifest = contents.manifest
        guard !global.dryRun else {
            return try PlanReport(manifest: manifest, plan: session(contents).plan)
                .emit(isVerbose: global.verbose > 0, output)
        }
        try ManifestRecord.applying(to: manifest.keychain, in: Directories(), until: .after(global.patience)) {
            try apply(manifest, session(contents), output)
        }
    }

    private func session(_ contents: ManifestFiles.Contents) throws -> ManifestSession {
        let session = try ManifestSession(
            contents.manifest, global, unprotects: unprotect || contents.plan?.unprotects ?? false)
        try contents.plan?.require(session.plan, for: contents.manifest.keychain)
        return session
    }

    private func apply(_ manifest: Manifest, _ session: ManifestSession, _ output: Output) throws {
        let report = PlanReport(manifest: manifest, plan: session.plan)
        guard !session.plan.isEmpty else {
            return try output.emit(report.document(isDryRun: false), sentence: report.summary)
        }
        try requireAllowed(session.plan)
        for line in report.lines(isVerbose: global.verbose > 0) + [report.summary] { try output.say(line) }
        try Confirmation(global).requireOfPerson("Make these changes?", else: "nothing was changed.")
        let keychain = try session.keychain(output)
        try mixedKeys.check(adding: session.plan.newKeys.map { $0 == .ed25519 }, to: keychain)
        let count = Lock(0)
        try session.apply(to: keychain, output) { change in
            count.withLock { count in
                count += 1
                // The changes are made, also if they cannot be printed.
                try? output.say(PlanReport.line(change, note: "done"))
            }
        }
        try output.emit(
            report.document(isDryRun: false),
            sentence: "Applied \(Plural.counted(count.withLock { $0 }, "change")).")
    }

    private func requireAllowed(_ plan: Plan) throws {
        guard let name = plan.destroyedKeys.first, !allowDestroyKeys else { return }
        throw KeychainError(
            .refused,
            "key \"\(name)\" would be destroyed, and what it has encrypted could not be read any more; "
                + "nothing was changed.",
            hint: "If that is meant: --allow-destroy-keys", details: ["key": name])
    }
}
