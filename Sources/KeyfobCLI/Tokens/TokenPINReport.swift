import Keyfob
import KeyfobPrimitives
import PKCS11

/// What the commands about PINs have in common.
enum TokenPINReport {
    /// Sets a PIN as the security officer.
    ///
    /// - Parameters:
    ///   - name: The token; `nil` for the one that the options select.
    ///   - pins: The sources of the PINs.
    ///   - global: The options.
    ///   - location: The module of the token.
    ///   - output: The output.
    ///   - verb: The verb in the sentence of a dry run.
    ///   - sentence: The beginning of the sentence about the result.
    ///   - body: Sets the PIN: gets the administration, the new PIN and the SO PIN.
    /// - Throws: `KeychainError` and `UsageError`.
    static func set(
        _ name: String?, _ pins: TokenPINOptions, _ global: GlobalOptions, _ location: ModuleOptions,
        _ output: Output, verb: String, sentence: String,
        _ body: (TokenAdministration, SecretBytes, SecretBytes) throws -> TokenAdministration.PINChange
    ) throws {
        let token = try SelectedToken(name, global, location)
        let administration = try token.administration(global)
        let info = try administration.info()
        let state = try "PIN of token \"\(TerminalSafe.text(info.label))\": \(token.pinState(info)). SO PIN: "
            + "\(info.securityOfficerPINState)."
        if global.dryRun { return try dryRun("Would \(verb) the PIN. \(state)", info, output) }
        if global.terminal.canAsk { output.warn(state) }
        let officer = try pins.securityOfficerPIN(info, global)
        let pin = try pins.newPIN(info.label, global)
        try emit(sentence, try body(administration, pin, officer), info, output)
    }

    /// Reports a dry run.
    static func dryRun(_ sentence: String, _ info: TokenInfo, _ output: Output) throws {
        try output.emit(
            document(info, isDryRun: true, []), sentence: sentence + " Dry run: nothing was changed.")
    }

    /// Reports a new PIN, and names the sources of keychains that have the former one.
    static func emit(
        _ sentence: String, _ change: TokenAdministration.PINChange, _ info: TokenInfo, _ output: Output
    ) throws {
        try Output.afterChange {
            try output.emit(
                document(info, isDryRun: false, change.outdated.map(\.keychain)),
                sentence: "\(sentence) \"\(TerminalSafe.text(info.label))\".")
        }
        for (keychain, source) in change.outdated {
            let shown = source.hasPrefix("cmd:") || source.hasPrefix("|") ? "its command" : TerminalSafe.text(source)
            output.warn("keychain \"\(keychain)\" takes its PIN from \(shown): put the new one there.")
        }
    }

    private static func document(_ info: TokenInfo, isDryRun: Bool, _ outdated: [String]) -> Document {
        Document(
            Effect(.update, isDryRun: isDryRun),
            [
                "token": info.label, "token_serial": info.serialNumber, "token_uri": info.uri.description,
                "outdated_keychains": outdated,
            ])
    }
}
