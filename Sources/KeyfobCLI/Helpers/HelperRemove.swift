import ArgumentParser
import Keyfob

/// `keyfob helper remove`: removes links of helpers.
struct HelperRemove: OutputCommand {
    static let configuration = CommandConfiguration(
        "remove", "Remove links of helpers.",
        examples: Examples(
            "keyfob helper remove git --configure",
            "keyfob helper remove docker keyring --bin /usr/local/bin",
            "keyfob helper remove cargo --dry-run"),
        discussion: "The stored passwords stay. Files that are not links to keyfob stay too.",
        aliases: ["rm", "delete"])

    @OptionGroup var options: HelperChangeOptions

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        let verb = global.dryRun ? "Would remove" : "Removed"
        var reports = try options.reports()
        do {
            for index in reports.indices { try remove(&reports[index], verb, output) }
        } catch let error as KeychainError {
            throw HelperReport.failure(error, after: reports)
        }
        try HelperReport.emit(reports, global, output)
    }

    private func remove(_ report: inout HelperReport, _ verb: String, _ output: Output) throws {
        let program = report.program
        if options.configure, report.isConfigured == true {
            if !global.dryRun {
                try report.configuration.remove()
                report.isConfigured = false
            }
            report.note(.delete)
            try output.say("\(verb) keyfob from the configuration of \(program.rawValue).")
        }
        if let link = report.link, report.isLinked {
            if !global.dryRun {
                try link.remove()
                report.isLinked = false
            }
            report.note(.delete)
            try output.say("\(verb) \(TerminalSafe.text(link.path)).")
        }
        if !report.isChanged { try output.say("Nothing to do for \(program.rawValue).") }
    }
}
