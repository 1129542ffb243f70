import ArgumentParser
import Keyfob
import KeyfobPrimitives
import PKCS11

/// `keyfob doctor`: tries what a token can do.
struct DoctorCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "doctor", "Try what a token can do, and say what to do.",
        examples: Examples(
            "keyfob doctor", "keyfob doctor --token hsm1 --pin-source file:/etc/keyfob/pin --json",
            "keyfob doctor --module /usr/lib/x86_64-linux-gnu/pkcs11/opensc-pkcs11.so"),
        discussion: """
            Makes temporary keys and a certificate, uses them, and removes them: session objects where the token makes \
            such, else objects labelled "\(TokenProbe.label)". Nothing remains. Without a PIN, it tries only what needs \
            no login. The PIN of --pin-source is tried once. A keychain on the token is checked as by keychain check.

            Exits with 0 if everything that a keychain needs works: a login, and a key that wraps. Otherwise with 6 if \
            no PIN was given, 8 if the token lacks something, 9 if the keychain on it is damaged. If the module or the \
            token is missing, or the PIN is wrong, it exits with the status of that error.
            """)

    @OptionGroup(title: "Module") var location: ModuleOptions

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        let token = try SelectedToken(nil, global, location)
        let info = try token.info()
        guard info.flags.contains(.tokenInitialized) else {
            throw KeychainError(
                .refused, "the token is not initialised, so there is nothing to try.",
                hint: "Initialise it: keyfob token init")
        }
        let probe = try Waiting.notice("the token to make and use keys", isShown: global.showsProgress) {
            // An interrupted probe would leave its keys on the token.
            try Interruption.deferring { try self.probe(token, info) }
        }
        let report = DoctorReport(
            token: token, location: location, library: try token.asking { try token.slot.module.info() }, probe: probe,
            pin: try token.pinState(probe.info), findings: try findings(token, probe))
        try output.emit(report.document, text: report.text(output.colour))
        if let status = report.failure { throw ExitCode(status.rawValue) }
    }

    /// Probes the token: with the PIN of its keychain, else with that of the PIN source, else without a login.
    private func probe(_ token: SelectedToken, _ info: TokenInfo) throws -> TokenProbe {
        // Without a login, nothing is made.
        guard !global.dryRun, info.flags.contains(.loginRequired) else {
            return try TokenProbe(of: token.slot, pin: nil)
        }
        if let keychain = token.keychain {
            do { return try keychain.objects.probe() } catch let error as KeychainError
                where [.pinRequired, .locked].contains(error.code)
            {
                return try TokenProbe(of: token.slot, pin: nil)
            }
        }
        let chosen = try global.explicitPINSource ?? global.environmentPINSource.map { try PINSource(parsing: $0) }
        guard let source = chosen ?? (global.terminal.canAsk ? .prompt : nil) else {
            return try TokenProbe(of: token.slot, pin: nil)
        }
        let environment = global.pinEnvironment(noInput: !global.terminal.mayAsk)
        return try TokenProbe(
            of: token.slot, pin: source.read(.token(info.label), from: environment),
            storedIn: source.isInteractive ? nil : source, allowsFinalTry: global.allowFinalTry)
    }

    /// The findings of the check of the token's keychain; `nil` if there is none or it is locked.
    private func findings(_ token: SelectedToken, _ probe: TokenProbe) throws -> [VaultFinding]? {
        guard let keychain = token.keychain, probe.isLoggedIn else { return nil }
        return try keychain.integrity.findings()
    }
}
