import ArgumentParser
import Keyfob
import KeyfobPrimitives

/// The passphrase of a file that is read or written.
struct PassphraseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Where the file's passphrase comes from: prompt, env:NAME, file:PATH, fd:N, credential:NAME, …",
            valueName: "source"))
    var passSource: String?

    func validate() throws {
        // The keychain's PIN may come from a command, which runs before this is read.
        EnvironmentVariable.withhold(namedBy: passSource)
    }

    /// Refuses standard input where it would have to give a file and its passphrase.
    ///
    /// - Throws: `UsageError`.
    func check(reading files: [FileArgument]) throws {
        guard let passSource, ["stdin", "fd:0"].contains(passSource), files.contains(where: { $0.path == "-" }) else {
            return
        }
        throw UsageError(
            "standard input cannot give both the passphrase and the file.",
            hint: "Give one of them another source, such as --pass-source fd:3 or the name of the file.")
    }

    /// The source of `--pass-source`. - Throws: `KeychainError` with code `invalidArgument`.
    func source() throws -> PINSource? { try passSource.map { try PINSource(parsing: $0) } }

    /// Reads the passphrase; without a source it is asked for.
    ///
    /// - Throws: `KeychainError` of the source; `pinRequired` where nobody can be asked.
    func read(_ purpose: PINPurpose, _ global: GlobalOptions) throws -> SecretBytes { try reading(global)(purpose) }

    /// Reads files with the passphrase; the error for a wrong one names the source that gave it.
    ///
    /// - Throws: What `reading` throws.
    func naming<Result>(_ reading: () throws -> Result) throws -> Result {
        do { return try reading() } catch let error as KeychainError where error.code == .filePassphraseIncorrect {
            // What a person typed came from nowhere that could be checked.
            guard let source = try source(), !source.isInteractive else { throw error }
            // A command is not repeated: people write secrets into them.
            let text = source.description.hasPrefix("cmd:") ? "cmd:…" : ShellWord.quoted(source.description)
            throw KeychainError(
                error.code, error.message,
                hint: "Try again, or check the source: --pass-source \(text) (a trailing newline is ignored)",
                details: error.details, cause: error.cause)
        }
    }

    /// As `read(_:_:)`, for one file after another: a source is read once, as many give what they have only once; a
    /// person is asked for each.
    func reading(_ global: GlobalOptions) -> (PINPurpose) throws -> SecretBytes {
        let environment = global.pinEnvironment(noInput: false)
        var known: SecretBytes?
        return { purpose in
            if let known { return known }
            let source = try source() ?? .prompt
            let secret = try source.read(purpose, from: environment)
            if !source.isInteractive { known = secret }
            return secret
        }
    }
}
