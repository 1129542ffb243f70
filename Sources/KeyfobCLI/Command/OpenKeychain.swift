import ArgumentParser
import Glibc
import Keyfob
import KeyfobPrimitives
import PKCS11

/// Opening of the keychain; all commands use these functions.
extension GlobalOptions {
    /// Opens the keychain that the options select, else the default one.
    ///
    /// Blocks while files are opened. The token is used only when a secret is.
    ///
    /// - Parameters:
    ///   - warmsUpToken: Whether a thread opens the token meanwhile (`Keychain.Options.warmsUpToken`).
    ///   - options: The options of the keychain; `nil` for `keychainOptions()`.
    /// - Throws: The `KeychainError` of `Keychain.open`; `invalidArgument` for an invalid PIN source. `UsageError` for
    ///   contradictory options.
    func openKeychain(warmsUpToken: Bool = false, options: Keychain.Options? = nil) throws -> Keychain {
        var options = try options ?? keychainOptions()
        options.warmsUpToken = warmsUpToken
        return try Keychain.open(selectedKeychainName(), options: options)
    }

    /// Like `openKeychain()`, but opens the token itself if the options name one without a keychain.
    ///
    /// For commands that only use objects on the token. Blocks while modules are loaded.
    ///
    /// - Parameter options: The options of the keychain; `nil` for `keychainOptions()`.
    /// - Throws: The errors of `openKeychain()` and of `TokenChoice.find`.
    func openKeychainOrToken(options: Keychain.Options? = nil) throws -> Keychain {
        do {
            return try openKeychain(options: options)
        } catch let error as KeychainError where error.code == .noSuchKeychain {
            guard let name = nameOfTokenWithoutKeychain else { throw error }
            return try openToken(name, options: options ?? keychainOptions())
        }
    }

    /// The token that the options name, if they name no keychain.
    private var nameOfTokenWithoutKeychain: String? {
        guard keychain == nil else { return nil }
        return token ?? (keychainName == nil ? tokenName : nil)
    }

    private func openToken(_ name: String, options: Keychain.Options) throws -> Keychain {
        let keychains = Keychains()
        // Searched first: a process uses one SoftHSM directory, and the search in modules may load another one.
        if let own = try TokenInventory.own().matches(name).first {
            return try keychains.open(token: own.uri, in: .softHSM, options: options)
        }
        let found = try TokenChoice.find(name, module: nil, environmentModule: modulePath)
        var uri = found.info.uri
        uri.pinSource = found.uri.pinSource
        return try keychains.open(token: uri, in: found.location, options: options)
    }

    /// Like `openKeychain()`, but returns `nil` if no keychain exists yet and none was named. For commands that do not
    /// need one.
    func openKeychainIfThere() throws -> Keychain? {
        do { return try openKeychain() } catch let error as KeychainError
            where error.code == .notInitialized && keychainName == nil && tokenName == nil
        { return nil }
    }

    /// The keychain options for commands: one-shot use, and questions at the terminal, if there is one.
    ///
    /// - Throws: `KeychainError.invalidArgument` for an invalid PIN source.
    func keychainOptions() throws -> Keychain.Options {
        var options = Keychain.Options(
            terminal: terminal, showsProgress: showsProgress)
        if let timeout {
            options.timeout = timeout.duration
            options.pinCommandTimeout = timeout.duration
            options.pinDescriptorTimeout = timeout.duration
        }
        // The library reads KEYFOB_PIN_SOURCE itself, because a source in the token's URI takes precedence over it.
        options.pinSource = try explicitPINSource
        options.allowsInsecureFiles = insecureFile
        options.allowsFinalTry = allowFinalTry
        return options
    }

    /// The limit for waiting for the token, the vault or another process (`Keychain.Options.timeout`).
    var patience: Duration { timeout?.duration ?? Keychain.Options().timeout }

    /// Whether to show progress: as `--progress` says, else if standard error is a terminal and `--quiet` is not set.
    var showsProgress: Bool { progress == .always || (progress == .auto && !quiet && Self.hasWatcher) }

    /// Whether standard error is a terminal.
    static var hasWatcher: Bool { isatty(StandardError.descriptor) == 1 }

    /// The environment in which commands read a PIN or passphrase themselves.
    func pinEnvironment(noInput: Bool) -> PINEnvironment {
        PINEnvironment(
            prompter: TerminalPrompter(terminal), noInput: noInput, allowInsecureFiles: insecureFile,
            commandDeadline: timeout?.duration ?? Keychain.Options().pinCommandTimeout,
            descriptorDeadline: timeout?.duration)
    }

    /// The name of the selected keychain; `nil` for the default one.
    ///
    /// The order is `--keychain`, the keychain on the token of `--token`, `KEYFOB_KEYCHAIN`, the keychain on the token
    /// of `KEYFOB_TOKEN`. Options take precedence over all variables, so that a shell profile cannot choose what a
    /// command removes.
    ///
    /// - Throws: `KeychainError.noSuchKeychain` if no keychain is on the token; `ambiguous` if several are.
    ///   `UsageError` for a malformed URI, a PIN in it, or contradictory options.
    func selectedKeychainName() throws -> String? {
        if let keychain {
            if let token { try Self.require(keychain, onToken: token) }
            return keychain
        }
        if let token { return try Self.keychainName(onToken: token) }
        return try keychainName ?? tokenName.map(Self.keychainName(onToken:))
    }

    /// The name of the keychain given as an argument, else `selectedKeychainName()`.
    ///
    /// - Throws: The errors of `selectedKeychainName()`; `UsageError` if an option selects another keychain. A variable
    ///   never conflicts, because it only applies if the command line selects none.
    func selectedKeychainName(argument name: String?) throws -> String? {
        guard let name else { return try selectedKeychainName() }
        try requireNoOther(than: name)
        if let token { try Self.require(name, onToken: token) }
        return name
    }

    /// Refuses `--keychain` if it differs from the keychain given as an argument.
    ///
    /// - Throws: `UsageError`.
    func requireNoOther(than name: String) throws {
        guard let keychain, !keychain.isIdentical(to: name) else { return }
        throw UsageError(
            "NAME and --keychain name different keychains: \"\(name)\" and \"\(keychain)\"; nothing was done.",
            hint: "Give one of the two.")
    }

    /// Refuses a keychain that is not on the given token.
    ///
    /// - Throws: `UsageError`; `KeychainError` if the configuration of the keychain cannot be read.
    static func require(_ keychain: String, onToken token: String) throws {
        let wanted = try TokenChoice.uri(token)
        guard try isOn(wanted, Keychains().configuration(keychain)) else {
            throw UsageError(
                "keychain \"\(keychain)\" is not on token \"\(token)\"; nothing was done.",
                hint: "Give one of the two. Tokens and keychains: keyfob token ls")
        }
    }

    /// Whether a keychain is on the token of a label or URI.
    ///
    /// If the URI names a slot or a module, the token itself is read, because the configuration contains neither. A
    /// token that does not answer does not match.
    static func isOn(_ wanted: PKCS11URI, _ configuration: KeychainConfiguration) -> Bool {
        // A keychain whose token URI is invalid is on no token.
        guard let token = try? PKCS11URI(configuration.token) else { return false }
        guard TokenChoice.names(wanted, token) else { return false }
        guard wanted.namesSlotOrModule else { return true }
        return (try? TokenInventory.entry(of: configuration, includesAll: true).isNamed(by: wanted)) ?? false
    }

    /// The one keychain on a token, according to the configurations.
    ///
    /// - Throws: `KeychainError.noSuchKeychain` or `ambiguous`; `UsageError` for a malformed URI or a PIN in it.
    static func keychainName(onToken tokenName: String) throws -> String {
        let wanted = try TokenChoice.uri(tokenName)
        let found = try Keychains().all().filter { isOn(wanted, $0) }.map(\.name)
        guard let name = found.first else {
            throw KeychainError(
                .noSuchKeychain, "no keychain is on token \"\(tokenName)\".",
                remedies: [
                    Remedy("Make one: keyfob init \(ShellWord.option("--token", tokenName))"),
                    Remedy("All keychains", .listKeychains),
                ])
        }
        guard found.count == 1 else {
            throw KeychainError(
                .ambiguous, "\(found.count) keychains are on token \"\(tokenName)\": \(found.joined(separator: ", ")).",
                hint: "Name one: --keychain NAME")
        }
        return name
    }
}

extension Keychain.Options {
    /// The options of a command that was given no options.
    init(terminal: Terminal, showsProgress: Bool) {
        self.init()
        isOneShot = true
        // `HangWatch` does that.
        endsWhenModuleHangs = true
        allowsAsking = terminal.mayAsk
        prompter = TerminalPrompter(terminal)
        guard showsProgress else { return }
        slowCallNotice = { call, _ in
            StandardError.write("keyfob: waiting for the token\(Self.reason(call)).\n")
        }
    }

    /// The reason why a call of the token may take long.
    private static func reason(_ call: String) -> String {
        call == PKCS11Function.login.rawValue
            ? " to log in" : ": large keys take time, and some tokens require a touch"
    }
}

/// Asks for PINs and passphrases at the controlling terminal.
struct TerminalPrompter: Prompter {
    private let terminal: Terminal

    /// Creates a prompter; `nil` if questions cannot be asked.
    init?(_ terminal: Terminal) {
        guard terminal.canAsk else { return nil }
        self.terminal = terminal
    }

    func readSecret(prompt: String, confirm: Bool) throws(KeychainError) -> SecretBytes {
        let hint = "Give a source: --pin-source file:… | credential:… | env:…"
        let question = TerminalSafe.text(prompt) + ": "
        return try KeychainError.wrapping("the terminal cannot be used.") {
            try confirm ? terminal.readNewSecret(question, hint: hint) : terminal.readSecret(question, hint: hint)
        }
    }
}
