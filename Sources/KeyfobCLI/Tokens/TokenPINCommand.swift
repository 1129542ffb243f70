import ArgumentParser
import Keyfob
import KeyfobPrimitives
import PKCS11

/// `keyfob token pin`: the PINs of tokens.
struct TokenPINCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "pin", "Change, set or unblock the PIN of a token.",
        examples: Examples(
            "keyfob token pin change hsm1", "keyfob token pin set hsm1", "keyfob token pin unblock hsm1"),
        subcommands: [TokenPINChangeCommand.self, TokenPINSetCommand.self, TokenPINUnblockCommand.self])
}

/// `keyfob token pin change`: changes the user PIN.
struct TokenPINChangeCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "change", "Change the PIN of a token.",
        examples: Examples(
            "keyfob token pin change hsm1", "keyfob token pin change --keychain site",
            "keyfob token pin change hsm1 --pin-source file:old.pin --new-pin-source file:new.pin"),
        discussion: """
            Without a name, it is the keychain's token. --pin-source, or else the source of the keychain, gives the \
            present PIN. A PIN file that keyfob made gets the new PIN, and a keychain that is unlocked stays so. The \
            other sources of keychains are named, to be updated.
            """)

    @Argument(help: "Label or PKCS#11 URI of the token.", completion: NameCompletion.tokens)
    var name: String?

    @Option(
        help: ArgumentHelp(
            "Where the new PIN comes from: prompt, env:NAME, file:PATH, fd:N, credential:NAME, …", valueName: "source"))
    var newPinSource: String?

    @OptionGroup(title: "Module") var location: ModuleOptions

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws { EnvironmentVariable.withhold(namedBy: newPinSource) }

    func run(_ output: Output) throws {
        let token = try SelectedToken(name, global, location)
        let administration = try token.administration(global)
        let info = try administration.info()
        let state = try "PIN of token \"\(TerminalSafe.text(info.label))\": \(token.pinState(info))."
        try administration.requireChangeablePIN(info)
        if global.dryRun {
            return try TokenPINReport.dryRun("Would change the PIN. \(state)", info, output)
        }
        if global.terminal.canAsk { output.warn(state) }
        let environment = global.pinEnvironment(noInput: !global.terminal.mayAsk)
        let source = try token.keychain?.pinSource().source
            ?? PINSourceSelection(option: global.explicitPINSource, environment: environment).source
        let old = try source.read(.token(info.label), from: environment)
        let new = try (newPinSource.map { try PINSource(parsing: $0) } ?? .prompt)
            .read(.newPIN(token: info.label), from: environment)
        let change = try administration.changePIN(from: old, to: new, storedIn: source.isInteractive ? nil : source)
        try TokenPINReport.emit("Changed the PIN of token", change, info, output)
    }
}

/// `keyfob token pin set`: sets the first user PIN.
struct TokenPINSetCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "set", "Set the PIN of a token that has none, with its SO PIN.",
        examples: Examples(
            "keyfob token pin set hsm1", "keyfob token pin set --keychain site --dry-run",
            "keyfob token pin set hsm1 --so-pin-source file:so.pin --new-pin-source file:user.pin"))

    @Argument(help: "Label or PKCS#11 URI of the token.", completion: NameCompletion.tokens)
    var name: String?

    @OptionGroup(title: "PINs") var pins: TokenPINOptions

    @OptionGroup(title: "Module") var location: ModuleOptions

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        try TokenPINReport.set(
            name, pins, global, location, output, verb: "set", sentence: "Set the PIN of token"
        ) { try $0.setPIN($1, securityOfficerPIN: $2) }
    }
}

/// `keyfob token pin unblock`: sets a new user PIN in place of a blocked one.
struct TokenPINUnblockCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "unblock", "Set a new PIN for a token whose PIN is blocked or forgotten, with its SO PIN (PUK).",
        examples: Examples(
            "keyfob token pin unblock hsm1", "keyfob token pin unblock --keychain site",
            "keyfob token pin unblock hsm1 --so-pin-source file:so.pin --new-pin-source file:user.pin"),
        discussion: "Keys and certificates on the token stay.")

    @Argument(help: "Label or PKCS#11 URI of the token.", completion: NameCompletion.tokens)
    var name: String?

    @OptionGroup(title: "PINs") var pins: TokenPINOptions

    @OptionGroup(title: "Module") var location: ModuleOptions

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        try TokenPINReport.set(
            name, pins, global, location, output, verb: "unblock",
            sentence: "Set a new PIN for token"
        ) { try $0.unblockPIN(settingTo: $1, securityOfficerPIN: $2) }
    }
}
