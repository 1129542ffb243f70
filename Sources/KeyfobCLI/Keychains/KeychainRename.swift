import ArgumentParser
import Keyfob

/// `keyfob keychain rename`: gives a keychain another name.
struct KeychainRename: OutputCommand {
    static let configuration = CommandConfiguration(
        "rename", "Give a keychain another name.",
        examples: Examples(
            "keyfob keychain rename site web",
            "keyfob keychain rename site web --dry-run",
            "keyfob keychain rename site web --json"),
        discussion: """
            Items, passphrase and token stay as they are, and the token keeps its label. The default keychain stays the \
            default one.
            """)

    @Argument(help: "The keychain.", completion: NameCompletion.keychains)
    var name: String

    @Argument(help: "The new name.")
    var newName: String

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        try global.requireNoOther(than: name)
        let keychains = Keychains()
        let former = try keychains.configuration(name)
        let isChange = name != newName
        var current = former
        if isChange {
            try keychains.requireRenamable(name, to: newName)
            if !global.dryRun { current = try keychains.changeName(of: name, to: newName, timeout: global.patience) }
        }
        var sentences = [
            !isChange ? "Unchanged: keychain \"\(name)\" has this name."
                : global.dryRun ? "Would rename keychain \"\(name)\" to \"\(newName)\"."
                : "Renamed keychain \"\(name)\" to \"\(newName)\".",
        ]
        if current.pinSource != former.pinSource, let source = current.pinSourceName {
            sentences.append("Programs that read its PIN from the former file need the new one: \(source)")
        }
        try output.emit(
            Document(
                global.effect(isChange ? .update : .none),
                [
                    "keychain": newName, "former_name": name,
                    "pin_source": global.dryRun ? nil : current.pinSourceName,
                ]), sentence: sentences.joined(separator: "\n"))
    }
}
