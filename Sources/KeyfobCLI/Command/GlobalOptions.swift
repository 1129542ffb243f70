import ArgumentParser
import Keyfob
import PKCS11

/// The options that every command accepts, before or after its verb.
///
/// Options take precedence over all environment variables; `--token` also takes precedence over `KEYFOB_KEYCHAIN`.
/// Commands use the computed values below instead of the raw options.
struct GlobalOptions: ParsableArguments {
    @Option(name: [.customShort("k"), .long], help: ArgumentHelp("The keychain to use.", valueName: "name"),
        completion: NameCompletion.keychains)
    var keychain: String?

    @Option(help: ArgumentHelp("The token to use, by its label or as a PKCS#11 URI.", valueName: "name|uri"),
        completion: NameCompletion.tokens)
    var token: String?

    @Option(
        help: ArgumentHelp(
            "Where the PIN comes from: prompt, env:NAME, file:PATH, fd:N, credential:NAME, …", valueName: "source"))
    var pinSource: String?

    @Flag(help: "Send the PIN even if another wrong one would block the token.")
    var allowFinalTry = false

    @Flag(help: "Accept a PIN or passphrase file that other users can read.")
    var insecureFile = false

    @Flag(help: "Never ask questions; fail instead.")
    var noInput = false

    @Flag(name: [.customShort("y"), .customLong("yes")], help: "Answer questions with yes.")
    var yes = false

    @Flag(help: "Show what would be done, and do nothing.")
    var dryRun = false

    @Flag(help: "Print one JSON document; the same as --format json.")
    var json = false

    @Option(
        name: .customLong("format"),
        help: ArgumentHelp(
            "The output format; commands that write files also accept file formats.", valueName: "format"))
    var formatOption: FormatName?

    @Flag(name: [.customShort("q"), .long], help: "Print results and errors only.")
    var quiet = false

    @Flag(
        name: [.customShort("v"), .long],
        help: "Print more; errors show the PKCS#11 result. Twice: also print each call of the token's module.")
    var verbose: Int

    @Option(help: ArgumentHelp("When to colour: never, auto or always.", valueName: "when"))
    var color: When = .auto

    @Option(help: ArgumentHelp("When to show progress: never, auto or always.", valueName: "when"))
    var progress: When = .auto

    @Option(
        help: ArgumentHelp(
            "How long to wait for a busy keychain or token, a call of the token's module, a PIN source or a pipe: "
                + "seconds, or 2m, 1h; 0 does not wait. Issuers and hooks have their own, longer limits.",
            valueName: "duration"))
    var timeout: TimeSpan?

    func validate() throws {
        // Commands that open no keychain may start programs too.
        EnvironmentVariable.withhold(namedBy: pinSource)
        if let timeout { HangWatch.choose(timeout.duration) }
        if verbose > 1 {
            CallTrace.observe { function, result in StandardError.write("keyfob: \(function) \(result)\n") }
        }
    }

    /// The options that take a value. A test compares them with those of the parser.
    static let namesTakingValue: Set<String> = [
        "-k", "--keychain", "--token", "--pin-source", "--format", "--color", "--progress", "--timeout",
    ]

    /// The options without a value; checked by the same test.
    static let flags: Set<String> = [
        "--allow-final-try", "--insecure-file", "--no-input", "-y", "--yes", "--dry-run", "--json", "-q", "--quiet",
        "-v", "--verbose",
    ]
}

extension GlobalOptions {
    /// The keychain of `--keychain` or `KEYFOB_KEYCHAIN`; `nil` for the default one.
    var keychainName: String? { keychain ?? Environment.nonEmpty("KEYFOB_KEYCHAIN") }

    /// The token of `--token` or `KEYFOB_TOKEN`.
    var tokenName: String? { token ?? Environment.nonEmpty("KEYFOB_TOKEN") }

    /// The PIN source on the command line.
    ///
    /// It takes precedence over the source in the token's URI, which takes precedence over that of the environment.
    var explicitPINSource: PINSource? {
        get throws { try pinSource.map { try PINSource(parsing: $0) } }
    }

    /// The PIN source of `KEYFOB_PIN_SOURCE`.
    var environmentPINSource: String? { Environment.nonEmpty("KEYFOB_PIN_SOURCE") }

    /// The PKCS#11 module of `KEYFOB_MODULE`.
    var modulePath: String? { Environment.nonEmpty("KEYFOB_MODULE") }

    /// The terminal; it refuses questions with `--no-input` or `KEYFOB_NO_INPUT`.
    var terminal: Terminal { noInput ? Terminal(mayAsk: false) : .standard }

    /// Returns the output with the format and verbosity of the options.
    ///
    /// - Throws: `UsageError` if the command lacks the format, `KEYFOB_FORMAT` names no format, or two options
    ///   contradict.
    func output() throws -> Output {
        var format: OutputFormat?
        switch formatOption {
        case .result(let name): format = name
        case .content(let name):
            throw UsageError(
                "this command has no format \(name.rawValue).",
                hint: "Use one of: " + OutputFormat.allCases.map(\.rawValue).joined(separator: ", "))
        case nil: format = nil
        }
        return try output(format)
    }

    /// Returns the output and the file format, for a command that writes a file. The first of `formats` is the default.
    ///
    /// - Throws: `UsageError` if the command lacks the format, `KEYFOB_FORMAT` names no format, or two options
    ///   contradict.
    func output(writing formats: [ContentFormat]) throws -> (output: Output, content: ContentFormat) {
        precondition(!formats.isEmpty, "a command that writes a file has a format for it")
        guard case .content(let name) = formatOption else { return (try output(), formats[0]) }
        guard formats.contains(name) else {
            throw UsageError(
                "this command has no format \(name.rawValue).",
                hint: "Use one of: " + formats.map(\.rawValue).joined(separator: ", "))
        }
        // If a file format is given, `KEYFOB_FORMAT` does not select a document as the result.
        return (try output(json ? nil : .table), name)
    }

    /// Returns the output of a command that can print metrics instead, and whether it is to do so.
    ///
    /// - Throws: `UsageError` if the command lacks the format, `KEYFOB_FORMAT` names no format, or two options
    ///   contradict.
    func outputOrMetrics() throws -> (output: Output, isMetrics: Bool) {
        guard case .content(.prometheus) = formatOption else { return (try output(), false) }
        guard !json else {
            throw UsageError("--json and --format prometheus exclude each other.", hint: "Give one of the two.")
        }
        return (try output(.table), true)
    }

    /// Refuses options that select one keychain, for a command about all of them.
    ///
    /// - Throws: `UsageError`.
    func requireNoKeychain() throws {
        guard keychain != nil || token != nil else { return }
        throw UsageError("--all and a keychain or token exclude each other.", hint: "Give one of the two.")
    }

    private func output(_ option: OutputFormat?) throws -> Output {
        let format = try OutputFormat.resolve(
            option: option, json: json, environment: Environment.value("KEYFOB_FORMAT"))
        let colour = Colour(color, isTerminal: StandardOutput.isTerminal, environment: Environment.value)
        return Output(format: format, colour: colour, isQuiet: quiet, verbosity: verbose)
    }

    /// Whether to continue with a destructive operation: `--yes`, or the user's answer.
    ///
    /// - Throws: `KeychainError.refused` if the question cannot be asked; `cancelled` at end of file.
    func confirm(_ question: String) throws -> Bool {
        if yes { return true }
        return try terminal.confirm(question)
    }
}
