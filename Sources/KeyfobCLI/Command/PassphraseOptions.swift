import ArgumentParser
import Keyfob
import KeyfobPrimitives

/// The passphrase of a file that a command reads or writes.
struct PassphraseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Where the file's passphrase comes from: prompt, env:NAME, file:PATH, fd:N, credential:NAME, …",
            valueName: "source"))
    var passSource: String?

    func validate() throws {
        // The PIN of the keychain may come from a command, which runs before the passphrase is read.
        EnvironmentVariable.withhold(namedBy: passSource)
    }

    /// Refuses standard input as the source of both a file and its passphrase.
    ///
    /// - Throws: `UsageError`.
    func check(reading files: [FileArgument]) throws {
        guard let passSource, ["stdin", "fd:0"].contains(passSource), files.contains(where: { $0.path == "-" }) else {
            return
        }
        throw UsageError(
            "standard input cannot provide both the passphrase and the file.",
            hint: "Give one of them another source, such as --pass-source fd:3 or a file's name.")
    }

    /// The source given by `--pass-source`.
    ///
    /// - Throws: `KeychainError.invalidArgument`.
    func source() throws -> PINSource? { try passSource.map { try PINSource(parsing: $0) } }

    /// Reads the passphrase from its source, or asks for it.
    ///
    /// - Throws: `KeychainError` of the source; `pinRequired` if the question cannot be asked.
    func read(_ purpose: PINPurpose, _ global: GlobalOptions) throws -> SecretBytes { try reading(global)(purpose) }

    /// Runs `reading`, and adds the source to the error for a wrong passphrase.
    ///
    /// - Throws: The error of `reading`.
    func naming<Result>(_ reading: () throws -> Result) throws -> Result {
        do { return try reading() } catch let error as KeychainError where error.code == .filePassphraseIncorrect {
            // A typed passphrase has no source to check.
            guard let source = try source(), !source.isInteractive else { throw error }
            // Commands are abbreviated, because they may contain secrets.
            let text = source.description.hasPrefix("cmd:") ? "cmd:…" : ShellWord.quoted(source.description)
            throw error.replacing(remedies: [
                "Try again, or check the source: --pass-source \(text) (a trailing newline is ignored)"
            ])
        }
    }

    /// Returns a function that reads the passphrase for one file after another.
    ///
    /// A source is read only once, because many sources can be read only once. A person is asked for each file.
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
