import ArgumentParser
import Keyfob

/// `keyfob helper install`: makes the links by which other programs find helpers.
struct HelperInstall: OutputCommand {
    static let configuration = CommandConfiguration(
        "install", "Link helpers to where other programs find them.",
        examples: Examples(
            "keyfob helper install git --configure",
            "keyfob helper install docker keyring --bin /usr/local/bin",
            "keyfob helper install cargo --dry-run"),
        discussion: """
            Without --configure, the entry in the other program's configuration is shown and not written. With it, \
            the entry for git and docker is written after a question. Running the command again changes nothing.
            """)

    @OptionGroup var options: HelperChangeOptions

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        let reports = try options.reports()
        var changed: [HelperReport] = []
        for var report in reports {
            do {
                if let link = report.link { try make(link, &report, output) }
                try configure(&report, output)
            } catch let error as KeychainError {
                throw HelperReport.failure(error, after: changed + [report])
            }
            changed.append(report)
        }
        let folder = options.links.folder
        if changed.contains(where: { $0.link != nil }), !folder.isInPath {
            output.warn("\(TerminalSafe.text(folder.path)) is not in PATH, so other programs do not find the helpers.")
        }
        try HelperReport.emit(changed, global, output)
    }

    private func make(_ link: HelperLink, _ report: inout HelperReport, _ output: Output) throws {
        let target = try HelperLink.target
        let shown = TerminalSafe.text(link.path)
        let state = link.state
        guard state != .linked(target) else { return try output.say("Unchanged: \(shown) is a link to keyfob.") }
        let action = state == .missing ? Effect.Action.create : .update
        guard !global.dryRun else {
            report.note(action)
            return try output.say("Would link \(shown) to \(TerminalSafe.text(target)).")
        }
        try link.make(to: target)
        report.note(action)
        report.isLinked = true
        try Output.afterChange { try output.say("Linked \(shown) to \(TerminalSafe.text(target)).") }
    }

    private func configure(_ report: inout HelperReport, _ output: Output) throws {
        let text = report.configuration.text
        let name = report.program.rawValue
        guard report.isConfigured != true else { return try output.say("Unchanged: \(name) calls keyfob.") }
        guard options.configure, report.isConfigured != nil else {
            return try output.say("To use it, add: \(text)")
        }
        let replaced = try report.configuration.replacedHelper().map { " in place of \(TerminalSafe.text($0))" } ?? ""
        let action = replaced.isEmpty ? Effect.Action.create : .update
        guard !global.dryRun else {
            report.note(action)
            return try output.say("Would add to the configuration of \(name)\(replaced): \(text)")
        }
        guard try global.confirm("Add to the configuration of \(name)\(replaced): \(text)?") else {
            throw KeychainError(.cancelled, "the configuration of \(name) was not changed.")
        }
        try report.configuration.add()
        report.note(action)
        report.isConfigured = true
        try Output.afterChange { try output.say("Added to the configuration of \(name)\(replaced): \(text)") }
    }
}
