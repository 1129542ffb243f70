import Keyfob

/// The commands that hints print. The library, which writes most of them, does not know how its keychain was named:
/// typed as they stand, they would be about another one, and some of them destroy.
enum HintedCommands {
    /// `hint` with commands that are about a keychain, whoever types them; the one that the command line names where
    /// `keychain` is `nil`.
    static func naming(_ keychain: String?, in hint: String) -> String {
        guard let name = keychain ?? named(by: CommandLine.arguments.dropFirst()), name != unnamed else { return hint }
        // Before the verb: what stands behind it may have an end of options in it.
        let beginning = "keyfob -k \(ShellWord.quoted(name)) "
        let always = /keyfob (?=(?:get|set|ls|rm|secret|identity|cert|key|trust|uri)(?:[ .,](?!--help)|$))/
        let withoutArgument = /keyfob (?=unlock$|keychain check(?: --secrets)?$|token show --objects(?! -- ))/
        return hint.replacing(always, with: beginning).replacing(withoutArgument, with: beginning)
    }

    /// The keychain that these arguments name, as they are: they may be what is wrong.
    private static func named(by arguments: ArraySlice<String>) -> String? {
        let words = arguments.prefix { $0 != "--" }
        var keychain: String?
        var token: String?
        for (word, next) in zip(words, words.dropFirst().map(Optional.some) + [nil]) {
            switch word {
            case "-k", "--keychain": keychain = next
            case "--token": token = next
            default:
                keychain = ["--keychain=", "-k=", "-k"].lazy.compactMap { word.dropping(prefix: $0) }.first ?? keychain
                token = word.dropping(prefix: "--token=") ?? token
            }
        }
        // What names no keychain, or cannot be read, is the error that is being told.
        return keychain ?? token.flatMap { try? GlobalOptions.keychainName(onToken: $0) }
    }

    /// The keychain of commands that name none. What cannot be found out of it is no second failure.
    private static var unnamed: String? {
        if let name = Environment.nonEmpty("KEYFOB_KEYCHAIN") { return name }
        if let token = Environment.nonEmpty("KEYFOB_TOKEN") { return try? GlobalOptions.keychainName(onToken: token) }
        return (try? Keychains().defaultName()) ?? Keychains.usualName
    }
}
