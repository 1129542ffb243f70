import ArgumentParser
import Keyfob

/// `keyfob ls`: lists secrets, without their values.
struct SecretList: OutputCommand {
    static let configuration = CommandConfiguration(
        "ls", "List secrets by name, without their values.",
        examples: Examples(
            "keyfob ls",
            "keyfob ls db/ --sort name",
            "keyfob ls --format tsv | cut -f1"),
        discussion: "Items are listed in the order in which they were added, as they are read; --sort reads all first.",
        aliases: ["list"])

    @Argument(help: "Only names that begin with this.", completion: NameCompletion.passwords)
    var prefix: String?

    @OptionGroup var listing: SecretListing

    @OptionGroup(title: "Item")
    var selection: SecretSelection

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        try selection.check(name: prefix ?? "any")
        let keychain = try global.openKeychain()
        let count = try listing.list(keychain, selection, verb: "ls", output) { item in
            prefix.map { item.nameText.utf8.starts(with: $0.utf8) } ?? true
        }
        if count == 0, output.isForPeople, prefix == nil, selection.isEmpty {
            let command = Wording(keychain: keychain.name).keyfob("set NAME")
            StandardError.write("Keychain \"\(keychain.name)\" has no passwords yet. Add one: \(command)\n")
        }
    }
}
