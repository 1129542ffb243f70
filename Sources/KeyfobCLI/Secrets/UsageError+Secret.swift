import Keyfob

extension UsageError {
    /// The error for a secret given as an argument, where `ps` and the shell's history show it. The text never repeats
    /// the argument.
    ///
    /// - Parameters:
    ///   - item: The name before the secret, for the hint.
    ///   - options: The options that select the item, each with a leading space.
    ///   - verb: The command.
    static func secretOnCommandLine(item: String, options: String = "", verb: String = "set") -> UsageError {
        func command(_ more: String) -> String {
            Wording.selected.keyfob(verb + " " + ShellWord.operand(item, with: options + more))
        }
        return UsageError(
            "secret values are not accepted on the command line, where other users can read them.",
            hint: "Pipe it:  printf %s \"$VALUE\" | \(command(" --stdin"))     or just: \(command(""))")
    }
}
