/// Removes possible secrets from messages, which may be logged although the command line is not.
enum SecretRedaction {
    /// The commands that take a secret, so that a superfluous argument may be one.
    private static let commands: Set<String> = [
        "set", "edit", "generate", "init", "create", "unlock", "git", "docker", "cargo", "keyring",
    ]

    /// Returns ArgumentParser's message without a value that the command does not take.
    ///
    /// - Parameter path: The command's words.
    static func checked(_ message: String, of path: [String]) -> String {
        // A flag with a value: --stdin=…
        let flag = /(?s)^The option '([^']*)' does not take any value, but '.*' was specified\.$/
        if let match = message.firstMatch(of: flag) {
            return "The option '\(match.1)' does not take any value."
        }
        guard let command = path.last, commands.contains(command) else { return message }
        if message.firstMatch(of: /(?s)^(Unexpected argument|\d+ unexpected arguments:) '.*'$/) != nil {
            return "There is an unexpected argument; it may be a secret, so it is not shown."
        }
        // Combined short options, as in -phunter2: each letter would be an option.
        if let match = message.firstMatch(of: /(?s)^Unknown option '(-[^-'])[^']+'/) {
            return "Unknown option '\(match.1)…'."
        }
        return message
    }
}
