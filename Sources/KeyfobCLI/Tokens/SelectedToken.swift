import Keyfob
import PKCS11

/// The token that a command uses: its slot, and the keychain that can log in, if there is one.
struct SelectedToken {
    let slot: Slot
    /// The named keychain, else the first one on the token.
    let keychain: Keychain?
    /// Whether the token is in Keyfob's own directory.
    let isOurs: Bool

    /// Selects the token of `argument`, else the one that options and variables select, in the same order as for
    /// keychains.
    ///
    /// A module that is named replaces the modules that p11-kit knows, and its only token needs no name.
    ///
    /// - Throws: `KeychainError.tokenAbsent`, `moduleNotLoaded`, and the errors of opening the keychain. `UsageError`
    ///   if argument and options contradict.
    init(_ argument: String?, _ global: GlobalOptions, _ location: ModuleOptions) throws {
        guard let name = try Self.name(argument, global) ?? Self.onlyToken(in: location) else {
            let keychain = try global.openKeychain()
            self.keychain = keychain
            isOurs = keychain.configuration.module == .softHSM
            slot = try keychain.objects.slot()
            return
        }
        let entry = try TokenInventory.entry(name, global, location)
        if let own = entry.keychains.first {
            let keychain = try Keychain.open(own, options: global.keychainOptions())
            self.keychain = keychain
            isOurs = entry.isOurs
            slot = try keychain.objects.slot()
            return
        }
        keychain = nil
        isOurs = entry.isOurs
        guard let slot = try entry.currentSlot(waiting: global.patience) else {
            throw KeychainError(
                .tokenAbsent, "token \"\(name)\" is not present.", hint: "List the tokens: keyfob token ls",
                details: ["token": name])
        }
        self.slot = slot
    }

    /// The URI of the token in the module of `--module`, if that has one token; `nil` without the option.
    ///
    /// - Throws: `KeychainError.moduleNotLoaded`; `tokenAbsent`, `tokenAmbiguous`.
    private static func onlyToken(in location: ModuleOptions) throws -> String? {
        guard let module = location.module else { return nil }
        return try TokenChoice.find(
            nil, module: module, parameters: location.moduleParameters, environmentModule: nil
        ).info.uri.description
    }

    /// The name or path of the module, as in lists.
    var module: String { isOurs ? TokenInventory.ownModule : slot.module.name ?? slot.module.path }

    /// The names of all keychains on the token.
    ///
    /// - Parameter info: The token's information.
    /// - Throws: `KeychainError` if the configuration of the keychains cannot be read.
    func keychains(_ info: TokenInfo) throws -> [String] {
        try TokenInventory.keychains(on: info, isOurs: isOurs, among: Keychains().all())
    }

    /// The token's name; `nil` if a keychain selects the token.
    private static func name(_ argument: String?, _ global: GlobalOptions) throws -> String? {
        if let argument, let token = global.token {
            // Checked first, because the error below repeats both, and they must not contain a PIN.
            let (first, second) = try (TokenChoice.uri(argument), TokenChoice.uri(token))
            guard first != second else { return argument }
            throw UsageError(
                "NAME and --token name different tokens: \"\(argument)\" and \"\(token)\".",
                hint: "Give one of the two.")
        }
        let name = argument ?? global.token
        if let keychain = global.keychain {
            if let name { try GlobalOptions.require(keychain, onToken: name) }
            return nil
        }
        return name ?? (global.keychainName == nil ? global.tokenName : nil)
    }

    /// The administration of the token.
    ///
    /// - Throws: `KeychainError.invalidArgument` for an invalid PIN source.
    func administration(_ global: GlobalOptions) throws -> TokenAdministration {
        TokenAdministration(of: slot, isOwn: isOurs, options: try global.keychainOptions())
    }

    /// The token's information.
    ///
    /// - Throws: `KeychainError.tokenAbsent`.
    func info() throws -> TokenInfo {
        if let keychain { return try keychain.tokenInfo() }
        return try asking { try slot.tokenInfo() }
    }

    /// Returns what the token answers.
    ///
    /// - Throws: `KeychainError.tokenAbsent` for every error of `question`.
    func asking<Answer>(_ question: () throws -> Answer) throws -> Answer {
        do { return try question() } catch {
            throw KeychainError(
                .tokenAbsent, "the token does not answer.", hint: "List the tokens: keyfob token ls", cause: error)
        }
    }
}
