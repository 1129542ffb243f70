/// What a message must not repeat: it ends in a log, where the command line does not.
enum Discretion {
    /// The commands that are about a secret, so that a word too many may be one.
    private static let commands: Set<String> = ["set", "edit", "generate", "init", "create", "unlock"]

    /// ArgumentParser's message without a value that somebody has given where none is taken.
    ///
    /// - Parameter path: The command's words.
    static func checked(_ message: String, of path: [String]) -> String {
        // A flag with a value: --stdin=… .
        let flag = /(?s)^The option '([^']*)' does not take any value, but '.*' was specified\.$/
        if let match = message.firstMatch(of: flag) {
            return "The option '\(match.1)' does not take any value."
        }
        guard let command = path.last, commands.contains(command) else { return message }
        if message.firstMatch(of: /(?s)^(Unexpected argument|\d+ unexpected arguments:) '.*'$/) != nil {
            return "There is a word too many, which may be a secret and is not repeated."
        }
        // Letters behind one hyphen, as in -phunter2: each would be an option.
        if let match = message.firstMatch(of: /(?s)^Unknown option '(-[^-'])[^']+'/) {
            return "Unknown option '\(match.1)…'."
        }
        return message
    }
}
