import Keyfob

/// Asks for confirmation before an object is destroyed or a certificate is trusted.
struct Confirmation {
    private let global: GlobalOptions

    init(_ global: GlobalOptions) { self.global = global }

    /// Asks the user to type the name of an object that cannot be restored. `--yes` and `--dry-run` skip the question.
    ///
    /// - Parameters:
    ///   - question: The question.
    ///   - name: The name to type.
    ///   - noun: The noun for the object.
    /// - Throws: `KeychainError.refused` if the question cannot be asked; `cancelled` for any other answer.
    func require(_ question: String, typing name: String, of noun: String = "keychain") throws {
        guard !global.yes, !global.dryRun else { return }
        guard try global.terminal.confirm(question, byTyping: name, of: noun) else {
            throw KeychainError(.cancelled, "nothing was removed.")
        }
    }

    /// Asks a yes-or-no question.
    ///
    /// - Throws: `KeychainError.refused` if the question cannot be asked; `cancelled` for any answer except yes.
    func require(_ question: String) throws { try require(question, else: "nothing was removed.") }

    /// Asks a yes-or-no question if there is a terminal. A script has decided already, so it is not asked.
    ///
    /// - Parameter refusal: The message of the error after a "no".
    /// - Throws: `KeychainError.cancelled` for any answer except yes.
    func requireOfPerson(_ question: String, else refusal: String) throws {
        guard !global.yes, global.terminal.canAsk else { return }
        try require(question, else: refusal)
    }

    /// Asks a yes-or-no question.
    ///
    /// - Parameter refusal: The message of the error after a "no".
    /// - Throws: `KeychainError.refused` if the question cannot be asked; `cancelled` for any answer except yes.
    func require(_ question: String, else refusal: String) throws {
        guard !global.dryRun else { return }
        guard try global.confirm(question) else { throw KeychainError(.cancelled, refusal) }
    }
}
