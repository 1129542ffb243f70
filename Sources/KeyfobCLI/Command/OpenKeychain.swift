import ArgumentParser
import Glibc
import Keyfob
import KeyfobPrimitives
import PKCS11

/// The one way a command gets its keychain.
extension GlobalOptions {
    /// Opens the keychain that the options name, else the default one.
    ///
    /// Blocks for as long as it takes to open a file; the token is touched when a secret is.
    ///
    /// - Throws: `KeychainError`; what `Keychain.open` throws, and `invalidArgument` for a PIN source that is none.
    func openKeychain(allowsFinalTry: Bool = false, opensTokenAhead: Bool = false) throws -> Keychain {
        var options = try keychainOptions(allowsFinalTry: allowsFinalTry)
        options.opensTokenAhead = opensTokenAhead
        return try Keychain.open(selectedKeychainName(), options: options)
    }

    /// As `openKeychain()`; `nil` where there is no keychain at all yet and none was named, for a command that can do
    /// without.
    func openKeychainIfThere() throws -> Keychain? {
        do { return try openKeychain() } catch let error as KeychainError
            where error.code == .notInitialized && keychainName == nil && tokenName == nil
        { return nil }
    }

    /// How commands use keychains: few calls, a person to ask where there is one.
    ///
    /// - Throws: `KeychainError` with code `invalidArgument` for a PIN source that is none.
    func keychainOptions(allowsFinalTry: Bool = false) throws -> Keychain.Options {
        var options = Keychain.Options(
            terminal: terminal, showsProgress: showsProgress)
        if let timeout {
            options.timeout = timeout.duration
            options.pinCommandTimeout = timeout.duration
            options.pinDescriptorTimeout = timeout.duration
        }
        // The variable KEYFOB_PIN_SOURCE is the library's to read: it goes after a URI's source.
        options.pinSource = try explicitPINSource.map { try PINSource(parsing: $0) }
        options.allowsInsecureFiles = insecureFile
        options.allowsFinalTry = allowsFinalTry
        return options
    }

    /// How long a wait for the token, the vault or another process may take (`Keychain.Options.timeout`).
    var patience: Duration { timeout?.duration ?? Keychain.Options().timeout }

    /// Whether progress is shown: as `--progress` says, or where somebody watches who has not asked for quiet.
    var showsProgress: Bool { progress == .always || (progress == .auto && !quiet && Self.hasWatcher) }

    /// Whether somebody may be reading what goes to standard error.
    static var hasWatcher: Bool { isatty(STDERR_FILENO) == 1 }

    /// Where commands that read a PIN or passphrase themselves take it from.
    func pinEnvironment(noInput: Bool) -> PINEnvironment {
        PINEnvironment(
            prompter: TerminalPrompter(terminal), noInput: noInput, allowInsecureFiles: insecureFile,
            commandDeadline: timeout?.duration ?? Keychain.Options().pinCommandTimeout,
            descriptorDeadline: timeout?.duration)
    }

    /// The keychain's name: `--keychain`, else the keychain on the token of `--token`, else that of `KEYFOB_KEYCHAIN`,
    /// else the one on the token of `KEYFOB_TOKEN`; `nil` for the default one.
    ///
    /// What stands on the command line goes before every variable: a profile must not choose what a command removes.
    ///
    /// - Throws: `KeychainError`; `noSuchKeychain` where no keychain is on that token, `ambiguous` where several are;
    ///   `UsageError` for a malformed URI, a PIN in it, and two options that contradict.
    func selectedKeychainName() throws -> String? {
        if let keychain {
            if let token { try Self.require(keychain, onToken: token) }
            return keychain
        }
        if let token { return try Self.keychainName(onToken: token) }
        return try keychainName ?? tokenName.map(Self.keychainName(onToken:))
    }

    /// The keychain that a command was given as its argument; without one, as `selectedKeychainName()`.
    ///
    /// - Throws: As `selectedKeychainName()`; `UsageError` where an option names another one. A variable never does: it
    ///   stands for what a command line leaves out.
    func selectedKeychainName(argument name: String?) throws -> String? {
        guard let name else { return try selectedKeychainName() }
        try requireNoOther(than: name)
        if let token { try Self.require(name, onToken: token) }
        return name
    }

    /// Refuses `--keychain` for another keychain than the one that a command was given as its argument.
    ///
    /// - Throws: `UsageError`.
    func requireNoOther(than name: String) throws {
        guard let keychain, !keychain.isIdentical(to: name) else { return }
        throw UsageError(
            "NAME and --keychain name different keychains: \"\(name)\" and \"\(keychain)\"; nothing was done.",
            hint: "Give one of the two.")
    }

    /// Refuses a keychain and a token that were both named, where the keychain is on another token.
    ///
    /// - Throws: `UsageError`; `KeychainError` where the keychain's configuration cannot be read.
    static func require(_ keychain: String, onToken token: String) throws {
        let wanted = try TokenChoice.uri(token)
        guard try isOn(wanted, Keychains().configuration(keychain)) else {
            throw UsageError(
                "keychain \"\(keychain)\" is not on token \"\(token)\"; nothing was done.",
                hint: "Give one of the two. What is where: keyfob token ls")
        }
    }

    /// Whether a keychain is on the token of a label or URI. The token is asked where the URI names a slot or a module,
    /// of which the configuration says nothing; one that does not answer is not the one.
    static func isOn(_ wanted: PKCS11URI, _ configuration: KeychainConfiguration) -> Bool {
        // A configuration whose token nobody can name is on no token.
        guard let token = try? PKCS11URI(configuration.token) else { return false }
        guard TokenChoice.names(wanted, token) else { return false }
        guard wanted.namesSlotOrModule else { return true }
        return (try? TokenInventory.entry(of: configuration, includesAll: true).isNamed(by: wanted)) ?? false
    }

    /// The one keychain on a token, by the configurations alone.
    ///
    /// - Throws: As `selectedKeychainName()`.
    static func keychainName(onToken tokenName: String) throws -> String {
        let wanted = try TokenChoice.uri(tokenName)
        let found = try Keychains().all().filter { isOn(wanted, $0) }.map(\.name)
        guard let name = found.first else {
            throw KeychainError(
                .noSuchKeychain, "no keychain is on token \"\(tokenName)\".",
                hint: "Make one: keyfob init \(ShellWord.option("--token", tokenName))     "
                    + "Keychains: keyfob keychain ls")
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
    /// The options of a command without any on its command line.
    init(terminal: Terminal, showsProgress: Bool) {
        self.init()
        isOneShot = true
        allowsAsking = terminal.mayAsk
        prompter = TerminalPrompter(terminal)
        guard showsProgress else { return }
        slowCallNotice = { call, _ in
            StandardError.write("keyfob: waiting for the token\(Self.reason(call)).\n")
        }
    }
}

extension Keychain.Options {
    /// Why a token may take its time over what the pool of sessions names.
    private static func reason(_ call: String) -> String {
        call == PKCS11Function.login.rawValue
            ? " to log in" : ": a large key takes its time, and some tokens want to be touched"
    }
}

/// Asks for PINs and passphrases at the controlling terminal.
struct TerminalPrompter: Prompter {
    private let terminal: Terminal

    /// A prompter, or `nil` where nobody can be asked.
    init?(_ terminal: Terminal) {
        guard terminal.canAsk else { return nil }
        self.terminal = terminal
    }

    func readSecret(prompt: String, confirm: Bool) throws(KeychainError) -> SecretBytes {
        let hint = "Give a source: --pin-source file:… | credential:… | env:…"
        let question = Visible.text(prompt) + ": "
        do {
            return try confirm
                ? terminal.readNewSecret(question, hint: hint) : terminal.readSecret(question, hint: hint)
        } catch let error as KeychainError {
            throw error
        } catch {
            throw KeychainError(.failed, "the terminal could not be asked.", cause: error)
        }
    }
}
