import Keyfob

/// A person's consent, asked for before something is destroyed, or somebody trusted.
struct Confirmation {
    private let global: GlobalOptions

    init(_ global: GlobalOptions) { self.global = global }

    /// Asks for the name of what cannot be brought back; `--yes` answers, and a dry run has nothing to ask.
    ///
    /// - Throws: `KeychainError`; `refused` where nobody can be asked, `cancelled` for any other answer.
    func require(_ question: String, typing name: String) throws {
        guard !global.yes, !global.dryRun else { return }
        guard try global.terminal.confirm(question, byTyping: name) else {
            throw KeychainError(.cancelled, "nothing was removed.")
        }
    }

    /// Asks yes or no. - Throws: As above.
    func require(_ question: String) throws { try require(question, else: "nothing was removed.") }

    /// Asks yes or no where a person can be asked; a script has decided already.
    ///
    /// - Parameter refusal: What a "no" leads to, in words.
    /// - Throws: As above.
    func requireOfPerson(_ question: String, else refusal: String) throws {
        guard !global.yes, global.terminal.canAsk else { return }
        try require(question, else: refusal)
    }

    private func require(_ question: String, else refusal: String) throws {
        guard !global.dryRun else { return }
        guard try global.confirm(question) else { throw KeychainError(.cancelled, refusal) }
    }
}
