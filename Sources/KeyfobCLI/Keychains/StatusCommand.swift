import ArgumentParser
import Keyfob

/// `keyfob status`: shows the status of the keychain.
struct StatusCommand: ParsableCommand, ContentWriter {
    static let contentFormats: [ContentFormat] = [.prometheus]

    static let configuration = CommandConfiguration(
        "status", "Show what is unlocked, whether the token is there, and what expires next.",
        examples: Examples(
            "keyfob status",
            "keyfob status --keychain site --json",
            "keyfob status --all --exit-code"),
        discussion: """
            Never asks for a PIN: details that need one are left out while a keychain is locked. --format prometheus \
            prints gauges for a textfile collector.
            """)

    @Flag(help: "All keychains, those that need attention first.")
    var all = false

    @Flag(help: "Exit with 10 if something needs attention: locked, absent, or expiring within 30 days.")
    var exitCode = false

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run() throws {
        let (output, isMetrics) = try global.outputOrMetrics()
        let keychains = Keychains()
        if all || isMetrics {
            if all { try global.requireNoKeychain() }
            return try report(all: all, isMetrics: isMetrics, keychains, output)
        }
        let configuration = try keychains.configuration(global.selectedKeychainName())
        let isDefault = try keychains.defaultName() == configuration.name
        let report = KeychainReport(
            configuration, isDefault: isDefault, options: try global.keychainOptions(), readsContents: true)
        let listing = try keychains.listing()
        let others = listing.keychains.map(\.name).filter { $0 != configuration.name }
        var lines = report.lines
        if !others.isEmpty { lines.append(("others", others.joined(separator: ", "))) }
        lines += listing.damaged.map { ("damaged", $0.error.message) }
        let damaged = listing.damaged.map { KeychainReport.members(ofDamaged: $0.name, $0.error) }
        try output.emit(
            Document(report.members + ["others": others, "damaged_keychains": damaged]), text: Table.pairs(lines))
        if exitCode, report.wantsAttention || !damaged.isEmpty { throw ExitCode(ExitStatus.attention.rawValue) }
    }

    /// Reports all keychains as a table, or all or one as metrics.
    private func report(all: Bool, isMetrics: Bool, _ keychains: Keychains, _ output: Output) throws {
        let listing = try keychains.listing()
        let defaultName = try keychains.defaultName()
        let chosen = try all ? listing.keychains : [keychains.configuration(global.selectedKeychainName())]
        let options = try global.keychainOptions()
        let reports = chosen.map {
            KeychainReport($0, isDefault: $0.name == defaultName, options: options, readsContents: true)
        }
        let sorted = reports.filter(\.wantsAttention) + reports.filter { !$0.wantsAttention }
        let damaged = all ? listing.damaged : []
        if isMetrics {
            var metrics = Metrics()
            for report in reports { report.add(to: &metrics) }
            for (name, _) in damaged { KeychainReport.addProblem(of: name, to: &metrics) }
            try StandardOutput.write(metrics.text)
        } else {
            var table = Table([
                .init("KEYCHAIN"), .init("STATE"), .init("TOKEN"), .init("EXPIRED"), .init("NEXT", mayShrink: true),
                .init("PROBLEM", mayShrink: true),
            ])
            for (name, error) in damaged {
                table.add([
                    .init(name), .init(KeychainReport.State.damaged.rawValue, .bad), "", "", "", .init(error.message),
                ])
            }
            for report in sorted { table.add(report.cells) }
            let list = damaged.map { KeychainReport.members(ofDamaged: $0.name, $0.error) }
            try output.emit(
                Document(
                    ["keychains": sorted.map(\.members), "damaged_keychains": list], listName: "keychains"),
                table: table)
        }
        if exitCode, !damaged.isEmpty || reports.contains(where: \.wantsAttention) {
            throw ExitCode(ExitStatus.attention.rawValue)
        }
    }
}
