import ArgumentParser
import Keyfob

/// `keyfob helper ls`: lists the helpers.
struct HelperList: OutputCommand {
    static let configuration = CommandConfiguration(
        "ls", "List the helpers, and which programs call them.",
        examples: Examples(
            "keyfob helper ls",
            "keyfob helper ls --bin /usr/local/bin",
            "keyfob helper ls --json"),
        aliases: ["list"])

    @OptionGroup var links: HelperLinkOptions

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        let reports = try HelperProgram.allCases.map { program in
            try HelperReport(HelperConfiguration(program: program), in: links.folder)
        }
        var table = Table([.init("NAME"), .init("PROGRAM"), .init("LINK"), .init("CONFIGURED")])
        for report in reports {
            let link = report.isLinked ? report.link?.path ?? "" : "-"
            let configured = report.isConfigured.map { $0 ? "yes" : "no" } ?? "-"
            let words = (["keyfob"] + report.program.words).joined(separator: " ")
            table.add([
                .init(report.program.rawValue), .init(report.program.name ?? words), .init(TerminalSafe.text(link)),
                .init(configured),
            ])
        }
        try output.emit(Document(["helpers": reports.map(\.members)]), table: table)
    }
}
