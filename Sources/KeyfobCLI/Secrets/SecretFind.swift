import ArgumentParser
import Foundation
import Keyfob

/// `keyfob find`: lists the secrets whose attributes contain a text.
struct SecretFind: OutputCommand {
    static let configuration = CommandConfiguration(
        "find", "List secrets whose name, account or other attribute contains a text.",
        examples: Examples(
            "keyfob find github",
            "keyfob find alice --kind internet --sort name",
            "keyfob find prod --format tsv | cut -f1"),
        discussion: """
            Name, account, label, server, path and comment are searched; upper and lower case are the same. Values \
            are never searched.
            """,
        aliases: ["search"])

    @Argument(help: "The text.")
    var text: String

    @OptionGroup var listing: SecretListing

    @OptionGroup(title: "Item")
    var selection: SecretSelection

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        guard !text.isEmpty else {
            throw UsageError("the text is empty.", hint: "All items: \(Wording.selected.keyfob("ls"))")
        }
        try selection.check(name: "any")
        let keychain = try global.openKeychain()
        let wanted = text.lowercased()
        let searched: [AttributeName] = [.service, .account, .label, .server, .path, .comment]
        let count = try listing.list(keychain, selection, verb: "find \(ShellWord.operand(text))", output) { item in
            searched.contains { item.text($0).lowercased().contains(wanted) }
        }
        if count == 0 { output.warn("no item in \"\(keychain.name)\" contains \"\(TerminalSafe.text(text))\".") }
    }
}
