import ArgumentParser
import Keyfob

/// `keyfob token rename`: gives a token another label.
struct TokenRenameCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "rename", "Give a token that keyfob made another label.",
        examples: Examples(
            "keyfob token rename login home", "keyfob token rename login home --dry-run",
            "keyfob token rename login home --json"),
        discussion: """
            Its keychain keeps its name. Programs that use the token by its label need the new one: keyfob uri

            PKCS#11 has no call for renaming, so the label of any other token changes only when the token is \
            initialised.
            """)

    @Argument(help: "Label or PKCS#11 URI of the token.", completion: NameCompletion.tokens)
    var name: String

    @Argument(help: "The new label.")
    var label: String

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        try TokenAdministration.check(label)
        let token = try NamedToken(name, global)
        guard let own = try token.own() else {
            let operand = ShellWord.operand(name, with: " --force --label \(ShellWord.quoted(label))")
            throw KeychainError(
                .mechanismUnsupported,
                "token \"\(token.title)\" cannot be renamed: PKCS#11 has no call for it; nothing was changed.",
                hint: "Only initialising sets a label, and it destroys all objects: keyfob token init \(operand)",
                details: ["token": token.entry.label])
        }
        let isNew = own.label != label
        let shown = TerminalSafe.text(label)
        let keychains = global.dryRun
            ? token.entry.keychains : try Keychains().relabel(own, to: label, timeout: global.patience)
        try output.emit(
            Document(
                global.effect(isNew ? .update : .none),
                token.members + ["label": label, "keychain_names": keychains]),
            sentence: !isNew
                ? "Nothing to do: the token is called \"\(shown)\"."
                : global.dryRun
                    ? "Would rename token \"\(token.title)\" to \"\(shown)\"."
                    : "Renamed token \"\(token.title)\" to \"\(shown)\".")
    }
}
