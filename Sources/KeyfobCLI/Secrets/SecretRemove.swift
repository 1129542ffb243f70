import ArgumentParser
import Keyfob

/// `keyfob rm`: removes secrets.
struct SecretRemove: OutputCommand {
    static let configuration = CommandConfiguration(
        "rm", "Remove secrets permanently.",
        examples: Examples(
            "keyfob rm db/old",
            "keyfob rm db/old ci/token --yes",
            "keyfob rm db/prod --user app --dry-run"),
        discussion: "NAME is the name that keyfob ls shows. Servers and other labels do not match.",
        aliases: ["remove", "delete"])

    @Argument(help: "The items' names.", completion: NameCompletion.passwords)
    var names: [String]

    @Flag(help: "Ignore names that no item has.")
    var ifExists = false

    @OptionGroup var protection: ProtectionOptions

    @OptionGroup(title: "Item")
    var selection: SecretSelection

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        for name in names { try selection.check(name: name) }
        let removal = SecretRemoval(ifExists: ifExists, protection: protection, global: global)
        try removal.perform(names, in: global.openKeychain(), output) { name, keychain in
            try selection.choice.one(name, for: .removing, in: keychain)
        }
    }
}
