import ArgumentParser
import Keyfob

/// `keyfob set`: stores a secret.
struct SecretSet: OutputCommand {
    static let configuration = CommandConfiguration(
        "set", "Store a secret, read from a pipe, a file or the terminal.",
        examples: Examples(
            "keyfob set db/prod --user app",
            "keyfob set ci/token --stdin < token.txt",
            "keyfob set registry.example.org --kind internet --protocol https --user ci --from-env CI_TOKEN"),
        discussion: """
            An existing item is an error, unless --replace gives it a new value or --if-missing keeps it. With \
            --replace, options such as --user are only needed if several items have the name.
            """)

    @Argument(help: "The item's name.", completion: NameCompletion.passwords)
    var name: String

    @Argument(help: .hidden)
    var rest: [String] = []

    @OptionGroup(title: "Value")
    var input: SecretInput

    @OptionGroup(title: "Existing items")
    var storing: SecretStoring

    @OptionGroup(title: "Item")
    var selection: SecretSelection

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        guard rest.isEmpty else {
            let options = selection.choice.words + (storing.replace ? " --replace" : "")
            throw UsageError.secretOnCommandLine(item: name, options: options)
        }
        try selection.check(name: name)
        try storing.check()
        try input.check(global)
        let item = try selection.newItem(name, label: storing.label, comment: storing.comment)
        let keychain = try global.openKeychain()
        var isRead = false
        let (action, stored) = try storing.store(
            item, called: name, as: selection.choice, in: keychain, isDryRun: global.dryRun
        ) {
            if global.dryRun, input.asks(global) { return nil }
            isRead = true
            return try input.read(name: name, global)
        }
        if !isRead { input.discard(global) }
        try SecretStoring.report(global.effect(action), name, stored, keychain, output)
    }
}
