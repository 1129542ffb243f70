import ArgumentParser
import Keyfob

/// `keyfob status`: shows the status of the keychain.
struct StatusCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "status", "Show what is unlocked, whether the token is there, and what expires next.",
        examples: Examples(
            "keyfob status",
            "keyfob status --keychain site --json",
            "keyfob status --exit-code"),
        discussion: "Never asks for a PIN: details that need one are left out while the keychain is locked.")

    @Flag(help: "Exit with 10 if something needs attention: locked, absent, or expiring within 30 days.")
    var exitCode = false

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        let keychains = Keychains()
        let configuration = try keychains.configuration(global.selectedKeychainName())
        let isDefault = try keychains.defaultName() == configuration.name
        let report = KeychainReport(
            configuration, isDefault: isDefault, options: try global.keychainOptions(), readsContents: true)
        let listing = try keychains.listing()
        let others = listing.keychains.map(\.name).filter { $0 != configuration.name }
        var lines = report.lines
        if !others.isEmpty { lines.append(("others", others.joined(separator: ", "))) }
        lines += listing.damaged.map { ("damaged", $0.error.message) }
        let damaged = listing.damaged.map { name, error -> Members in
            ["name": name, "problem": KeychainReport.problem(error)]
        }
        try output.emit(
            Document(report.members + ["others": others, "damaged_keychains": damaged]), text: Table.pairs(lines))
        if exitCode, report.wantsAttention || !damaged.isEmpty { throw ExitCode(ExitStatus.attention.rawValue) }
    }
}
