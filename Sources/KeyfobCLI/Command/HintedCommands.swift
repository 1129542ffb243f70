import Keyfob

/// Adds the keychain to the commands in hints.
///
/// The library writes most hints, but does not know how the user selected the keychain. Without the option, the
/// commands would apply to another keychain, and some of them destroy data.
enum HintedCommands {
    /// Returns `hint` with the keychain added to its commands.
    ///
    /// - Parameter keychain: The name of the keychain; `nil` for the one that the command line selects.
    static func naming(_ keychain: String?, in hint: String) -> String {
        guard let name = keychain ?? named(by: CommandLine.arguments.dropFirst()), name != unnamed else { return hint }
        // Inserted before the verb, because the arguments after it may contain "--".
        let beginning = "keyfob -k \(ShellWord.quoted(name)) "
        let always = /keyfob (?=(?:get|set|ls|rm|secret|identity|cert|key|trust|uri)(?:[ .,](?!--help)|$))/
        let withoutArgument = /keyfob (?=unlock$|keychain check(?: --secrets)?$|token show --objects(?! -- ))/
        return hint.replacing(always, with: beginning).replacing(withoutArgument, with: beginning)
    }

    /// The keychain that the raw arguments select. They are not parsed, because the error may be in them.
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
        // If the token has no keychain or cannot be read, that is the error being reported.
        return keychain ?? token.flatMap { try? GlobalOptions.keychainName(onToken: $0) }
    }

    /// The keychain of commands that select none. Errors are ignored, because another error is being reported.
    private static var unnamed: String? {
        if let name = Environment.nonEmpty("KEYFOB_KEYCHAIN") { return name }
        if let token = Environment.nonEmpty("KEYFOB_TOKEN") { return try? GlobalOptions.keychainName(onToken: token) }
        return (try? Keychains().defaultName()) ?? Keychains.usualName
    }
}
