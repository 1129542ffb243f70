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
        for index in reports.indices {
            let program = reports[index].program
            if options.configure, reports[index].isConfigured == true {
                if !global.dryRun {
                    try reports[index].configuration.remove()
                    reports[index].isConfigured = false
                }
                reports[index].isChanged = true
                try output.say("\(verb) keyfob from the configuration of \(program.rawValue).")
            }
            if let link = reports[index].link, reports[index].isLinked {
                if !global.dryRun {
                    try link.remove()
                    reports[index].isLinked = false
                }
                reports[index].isChanged = true
                try output.say("\(verb) \(TerminalSafe.text(link.path)).")
            }
            if !reports[index].isChanged { try output.say("Nothing to do for \(program.rawValue).") }
        }
        try HelperReport.emit(reports, .delete, global, output)
    }
}
