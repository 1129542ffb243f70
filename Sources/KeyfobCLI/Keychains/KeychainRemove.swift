import ArgumentParser
import Keyfob

/// `keyfob keychain rm`: removes a keychain with all that is in it.
struct KeychainRemove: ParsableCommand {
    static let configuration = CommandConfiguration(
        "rm", "Remove a keychain, its passwords, and the token if keyfob made it.",
        examples: Examples(
            "keyfob keychain rm site",
            "keyfob keychain rm site --dry-run",
            "keyfob keychain rm ci --yes"),
        aliases: ["remove", "delete"])

    @Argument(help: "The keychain.", completion: NameCompletion.keychains)
    var name: String

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run() throws {
        let output = try global.output()
        let keychains = Keychains()
        let configuration = try keychains.configuration(name)
        let isOurs = configuration.module == .softHSM
        let what =
            isOurs ? "its passwords, keys and certificates" : "its passwords; keys and certificates stay on the token"
        if global.dryRun {
            return try report(output, "Would remove keychain \"\(name)\" with \(what).", isChanged: false)
        }
        if !global.yes {
            let question = "Remove keychain \"\(name)\" with \(what)? This cannot be undone."
            guard try global.terminal.confirm(question, byTyping: name) else {
                return try report(output, "Kept keychain \"\(name)\".", isChanged: false)
            }
        }
        try keychains.delete(name)
        try report(output, "Removed keychain \"\(name)\".", isChanged: true)
    }

    private func report(_ output: Output, _ sentence: String, isChanged: Bool) throws {
        try output.emit(
            Document(["keychain": .string(name), "changed": .boolean(isChanged), "dry_run": .boolean(global.dryRun)]),
            sentence: sentence)
    }
}
