import ArgumentParser
import Keyfob

/// `keyfob token rm`: removes a token that Keyfob made.
struct TokenRemoveCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "rm", "Remove a token that keyfob made, with all keys and certificates on it.",
        examples: Examples("keyfob token rm old", "keyfob token rm old --dry-run", "keyfob token rm old --yes"),
        discussion: """
            For tokens that no keychain uses; keyfob keychain rm removes a keychain with its token. A token that holds a \
            keychain is refused, unless --keychain names it. Other tokens are not removed, since they are devices or \
            belong to other programs.
            """,
        aliases: ["remove", "delete"])

    @Argument(help: "Label or PKCS#11 URI of the token.", completion: NameCompletion.tokens)
    var name: String

    @Flag(help: "Succeed if there is no such token.")
    var ifExists = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        let token: NamedToken
        do { token = try NamedToken(name, global) } catch let error as KeychainError
            where ifExists && error.code == .tokenAbsent
        {
            return try output.emit(
                Document(global.effect(.none), NamedToken.members(ofMissing: name)),
                sentence: "Nothing to do: there is no token \"\(TerminalSafe.text(name))\".")
        }
        guard let own = try token.own() else {
            throw KeychainError(
                .refused,
                "token \"\(token.title)\" was not made by keyfob: it is a device, or belongs to another program; "
                    + "nothing was removed.",
                hint: "To destroy all objects on it: keyfob token init " + ShellWord.operand(name, with: " --force"),
                details: ["token": token.entry.label])
        }
        try token.requireNoOtherKeychain(global, doing: "remove")
        let keychains = Keychains()
        let count = Plural.counted(try keychains.objectCount(of: own), "object")
        if global.dryRun {
            return try report(output, token, "Would remove token \"\(token.title)\" with \(count).")
        }
        try Confirmation(global).require(
            "Remove token \"\(token.title)\" with \(count)? This cannot be undone.", typing: own.label, of: "token")
        try keychains.remove(own, timeout: global.patience)
        try report(output, token, "Removed token \"\(token.title)\" with \(count).")
    }

    private func report(_ output: Output, _ token: NamedToken, _ sentence: String) throws {
        try output.emit(Document(global.effect(.delete), token.members), sentence: sentence)
    }
}
