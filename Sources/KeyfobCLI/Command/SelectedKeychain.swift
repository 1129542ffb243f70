import Keyfob

/// The keychain that the command line selects, for the texts of errors.
///
/// The arguments are not parsed, because the error may be in them.
enum SelectedKeychain {
    /// The keychain that the arguments select; `nil` if they select none.
    ///
    /// If their token has no keychain or cannot be read, that is the error being reported.
    static var name: String? { try? keychain(in: CommandLine.arguments) }

    /// The token that the arguments select, if it has no keychain.
    static var tokenWithoutKeychain: String? {
        let (keychain, token) = selection(in: CommandLine.arguments)
        guard keychain == nil, let token, (try? GlobalOptions.keychainName(onToken: token)) == nil else { return nil }
        return token
    }

    /// The keychain that the words of a command line select; `nil` if they select none.
    ///
    /// - Parameter words: The name of the program and its arguments.
    /// - Throws: `KeychainError` if the keychain of the token cannot be determined.
    static func keychain(in words: [String]) throws -> String? {
        let (keychain, token) = selection(in: words)
        return try keychain ?? token.map(GlobalOptions.keychainName(onToken:))
    }

    /// The values of `--keychain` and `--token`.
    private static func selection(in words: [String]) -> (keychain: String?, token: String?) {
        let words = words.dropFirst().prefix { $0 != "--" }
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
        return (keychain, token)
    }

    /// The keychain of commands that select none. Errors are ignored, because another error is being reported.
    static var unnamed: String? {
        if let name = Environment.nonEmpty("KEYFOB_KEYCHAIN") { return name }
        if let token = Environment.nonEmpty("KEYFOB_TOKEN") { return try? GlobalOptions.keychainName(onToken: token) }
        return (try? Keychains().defaultName()) ?? Keychains.usualName
    }
}
