import Keyfob
import KeyfobPrimitives

/// Asks for PINs and passphrases at the terminal until the agent serves.
///
/// After that the terminal belongs to other programs.
struct PrompterAtStart: Prompter {
    /// Whether the agent serves.
    let isServing = Lock(false)
    private let prompter: TerminalPrompter

    init(_ prompter: TerminalPrompter) { self.prompter = prompter }

    func readSecret(prompt: String, confirm: Bool) throws(KeychainError) -> SecretBytes {
        guard isServing.withLock({ !$0 }) else {
            throw KeychainError(
                .pinRequired, "a PIN or passphrase is needed, and an agent asks only when it starts.",
                hint: "End the agent and start it again.")
        }
        return try prompter.readSecret(prompt: prompt, confirm: confirm)
    }
}
