import ArgumentParser
import Keyfob
import KeyfobPrimitives
import PKCS11

/// `keyfob token init`: makes a token anew.
struct TokenInitCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "init", "Initialise a token, which destroys all objects on it.",
        examples: Examples(
            "keyfob token init 'pkcs11:slot-id=1;module-name=softhsm2' --label hsm1",
            "keyfob token init hsm1 --force --dry-run",
            "keyfob token init hsm1 --force --yes --so-pin-source file:so.pin --new-pin-source file:user.pin"),
        discussion: """
            A token that holds objects, or may hold them, is initialised only with --force. For a token that was \
            initialised before, --so-pin-source gives its present SO PIN, otherwise a new one. Without --new-pin-source, \
            the new user PIN is asked for; if no question can be asked, the token has none until: keyfob token pin set

            A token that holds a keychain is refused, unless --keychain names it. For a token in Keyfob's own directory: \
            keyfob init, keyfob token rm
            """)

    @Argument(help: "Label or PKCS#11 URI of the token.", completion: NameCompletion.tokens)
    var name: String

    @Option(help: "The new label; the present one if it is left out.")
    var label: String?

    @Flag(help: "Initialise a token that was initialised before, or that is hardware.")
    var force = false

    @OptionGroup(title: "PINs") var pins: TokenPINOptions

    @OptionGroup(title: "Module") var location: ModuleOptions

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        if let label { try TokenAdministration.check(label) }
        let token = try NamedToken(name, global, location)
        guard !token.entry.isOurs else {
            throw KeychainError(
                .refused, "token \"\(token.title)\" was made by keyfob, which makes a new token for each keychain.",
                hint: "A keychain with a token: keyfob init. To remove this token: keyfob token rm "
                    + ShellWord.operand(token.entry.label),
                details: ["token": token.entry.label])
        }
        guard let slot = try token.entry.currentSlot(waiting: global.patience) else {
            throw KeychainError(.tokenAbsent, "token \"\(token.title)\" is not present.", hint: "keyfob token ls")
        }
        let administration = TokenAdministration(of: slot, options: try global.keychainOptions())
        let info = try administration.info()
        let newLabel = label ?? info.label
        guard !newLabel.isEmpty else {
            throw UsageError("the token has no label yet; nothing was changed.", hint: "Give it one: --label NAME")
        }
        try token.requireNoOtherKeychain(global, doing: "initialise")
        let isUsed = info.flags.contains(.tokenInitialized)
        // A module that does not describe its slot may be one for hardware.
        let isHardware = (try? slot.info().isHardware) ?? true
        guard force || !isUsed && !isHardware else {
            throw KeychainError(
                .refused,
                "token \"\(token.title)\" is \(isUsed ? "initialised already" : "hardware"); nothing was changed.",
                hint: "To destroy all objects on it: keyfob token init "
                    + ShellWord.operand(name, with: " --force"),
                details: ["token": info.label])
        }
        let loss = isUsed ? try loss(on: slot, info, administration) : "It was never initialised."
        if global.dryRun {
            return try report(
                output, token, info, isUsed: isUsed, hasPIN: nil,
                "Would initialise token \"\(token.title)\" as \"\(TerminalSafe.text(newLabel))\". \(loss)")
        }
        if isUsed {
            try Confirmation(global).require(
                "Initialise token \"\(token.title)\"? \(loss) This cannot be undone.",
                typing: info.label.isEmpty ? name : info.label, of: "token")
        }
        let officer = try pins.initialSecurityOfficerPIN(info, global)
        let pin = pins.newPinSource == nil && !global.terminal.canAsk ? nil : try pins.newPIN(newLabel, global)
        let made = try administration.initialize(
            expecting: info, label: newLabel, securityOfficerPIN: officer, pin: pin)
        let next = pin == nil ? " It has no PIN yet: keyfob token pin set \(ShellWord.operand(made.label))" : ""
        try report(
            output, token, made, isUsed: isUsed, hasPIN: pin != nil,
            "Initialised token \"\(TerminalSafe.text(made.label))\".\(next)")
    }

    /// Says how many objects will be destroyed. With `--pin-source`, the private ones are counted too.
    private func loss(on slot: Slot, _ info: TokenInfo, _ administration: TokenAdministration) throws -> String {
        guard let source = try global.explicitPINSource, info.flags.contains(.loginRequired) else {
            let count = Plural.counted(try administration.publicObjectCount(), "object")
            guard info.flags.contains(.loginRequired) else { return "\(count) on it will be destroyed." }
            return "\(count) that it shows without its PIN, and all that it does not show, will be destroyed."
        }
        let pin = try source.read(.token(info.label), from: global.pinEnvironment(noInput: !global.terminal.mayAsk))
        let contents = try TokenContents(of: slot, pin: pin, storedIn: source.isInteractive ? nil : source)
        return "\(Plural.counted(contents.objects.count + contents.debris, "object")) on it will be destroyed."
    }

    private func report(
        _ output: Output, _ token: NamedToken, _ info: TokenInfo, isUsed: Bool, hasPIN: Bool?, _ sentence: String
    ) throws {
        try output.emit(
            Document(
                global.effect(isUsed ? .update : .create),
                [
                    "token": info.label, "token_serial": info.serialNumber, "token_uri": info.uri.description,
                    "pin_set": hasPIN,
                ]), sentence: sentence)
    }
}
