import ArgumentParser
import Keyfob
import KeyfobPrimitives
import PKCS11

/// The sources of a token's PINs besides `--pin-source`, which names the present user PIN.
struct TokenPINOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Where the new user PIN comes from: prompt, env:NAME, file:PATH, fd:N, credential:NAME, …",
            valueName: "source"))
    var newPinSource: String?

    @Option(
        help: ArgumentHelp(
            "Where the SO PIN (PUK) comes from: prompt, env:NAME, file:PATH, fd:N, credential:NAME, …",
            valueName: "source"))
    var soPinSource: String?

    func validate() throws {
        // One source may be a command, which runs before the other is read.
        EnvironmentVariable.withhold(namedBy: newPinSource)
        EnvironmentVariable.withhold(namedBy: soPinSource)
    }

    /// Reads the new user PIN from its source, or asks for it twice.
    ///
    /// - Throws: `KeychainError` of the source; `pinRequired` if the question cannot be asked.
    func newPIN(_ label: String, _ global: GlobalOptions) throws -> SecretBytes {
        try Self.read(newPinSource, .newPIN(token: label), global)
    }

    /// Reads the SO PIN from its source, or asks for it.
    ///
    /// Before the first user PIN, NSS has an empty SO PIN, and no source gives an empty one. So a token that requires
    /// no login, or calls itself uninitialised, gets the empty PIN unless the user gives another.
    ///
    /// - Throws: `KeychainError` of the source; `pinRequired` if the question cannot be asked.
    func securityOfficerPIN(_ info: TokenInfo, _ global: GlobalOptions) throws -> SecretBytes {
        let isUsual = info.flags.isSuperset(of: [.loginRequired, .tokenInitialized])
        if soPinSource == nil, !isUsual { return SecretBytes(utf8: "") }
        return try Self.read(soPinSource, .securityOfficer(token: info.label), global)
    }

    /// Reads the SO PIN for initialising a token: its present one, or a new one if it was never initialised.
    ///
    /// - Throws: `KeychainError` of the source; `pinRequired` if the question cannot be asked.
    func initialSecurityOfficerPIN(_ info: TokenInfo, _ global: GlobalOptions) throws -> SecretBytes {
        guard !info.flags.contains(.tokenInitialized) else { return try securityOfficerPIN(info, global) }
        return try Self.read(soPinSource, .newSecurityOfficer(token: info.label), global)
    }

    private static func read(_ source: String?, _ purpose: PINPurpose, _ global: GlobalOptions) throws -> SecretBytes {
        let source = try source.map { try PINSource(parsing: $0) } ?? .prompt
        return try source.read(purpose, from: global.pinEnvironment(noInput: !global.terminal.mayAsk))
    }
}
