import Foundation
import Keyfob
import KeyfobPrimitives
import PKCS11

/// The tokens of this machine: those in Keyfob's own SoftHSM directory, and those of p11-kit's modules.
struct TokenInventory {
    /// One token.
    struct Entry {
        let label: String
        let serial: String
        let manufacturer: String
        let model: String
        /// The name or path of the module.
        let module: String
        /// The names of the keychains on the token.
        let keychains: [String]
        /// Whether the token is in Keyfob's own directory.
        let isOurs: Bool
        /// The token's information; `nil` for Keyfob's own tokens, which a list need not open.
        let info: TokenInfo?
        let slot: Slot?

        /// The state of its PIN.
        var state: String {
            guard let info else { return "ok" }
            if !info.flags.contains(.tokenInitialized) { return "not initialised" }
            if info.flags.contains(.userPINLocked) { return "PIN blocked" }
            if info.flags.contains(.userPINFinalTry) { return "ONE PIN try left" }
            if info.flags.contains(.userPINCountLow) { return "a few PIN tries left" }
            if info.flags.contains(.loginRequired), !info.flags.contains(.userPINInitialized) { return "no PIN set" }
            if info.flags.contains(.userPINToBeChanged) { return "PIN must be changed" }
            return "ok"
        }
    }

    let entries: [Entry]

    /// The name of the module for Keyfob's own tokens, independent of its path.
    static let ownModule = "softhsm2"

    /// Finds all tokens. Blocks for as long as the slowest module takes.
    ///
    /// - Parameters:
    ///   - includesAll: Whether to include trust stores and slots without an initialised token.
    ///   - module: The path or name of the only module to search, besides Keyfob's own tokens; `nil` for all modules
    ///     that p11-kit knows.
    ///   - parameters: The parameters of a module that is named by its path.
    /// - Throws: `KeychainError` if the configuration of the keychains cannot be read; `moduleNotLoaded` if `module`
    ///   cannot be used.
    init(includesAll: Bool, module: String? = nil, parameters: String? = nil) throws {
        let configurations = try Keychains().all()
        let ours = try Self.ours(configurations)
        var entries = ours
        for (module, slots) in try Self.slots(of: module, parameters, includesTrustStores: includesAll) {
            for slot in slots {
                guard let info = StandardError.silenced({ try? slot.tokenInfo() }) else { continue }
                guard includesAll || info.flags.contains(.tokenInitialized) else { continue }
                guard !ours.contains(where: { $0.serial == info.serialNumber && $0.label == info.label }) else {
                    continue
                }
                let names = Self.keychains(on: info, isOurs: false, among: configurations)
                entries.append(
                    Entry(
                        label: info.label, serial: info.serialNumber, manufacturer: info.manufacturer,
                        model: info.model,
                        module: module.name ?? module.path, keychains: names, isOurs: false, info: info, slot: slot))
            }
        }
        self.entries = entries
    }

    /// Finds only Keyfob's own tokens, without loading a module.
    ///
    /// SoftHSM has one directory per process, set when it is loaded. A command that will open one of Keyfob's tokens
    /// must be the first to load it.
    ///
    /// - Throws: `KeychainError` if the configuration of the keychains cannot be read.
    static func own() throws -> TokenInventory { TokenInventory(entries: try ours(Keychains().all())) }

    /// Finds the token of a keychain, in the module of the keychain.
    ///
    /// - Throws: `KeychainError.tokenAbsent`, `moduleNotLoaded`.
    static func entry(of keychain: KeychainConfiguration, includesAll: Bool) throws -> Entry {
        let inventory =
            switch keychain.module {
            case .softHSM: try own()
            case .path(let path, let parameters):
                try TokenInventory(includesAll: includesAll, module: path, parameters: parameters)
            case .registered(let name): try TokenInventory(includesAll: includesAll, module: name)
            }
        guard let entry = inventory.entries.first(where: { $0.keychains.contains(keychain.name) }) else {
            throw KeychainError(
                .tokenAbsent, "the token of keychain \"\(keychain.name)\" is not present.",
                remedies: ["Insert it, or mount its file system.", Remedy("List the tokens", .listTokens)],
                details: ["keychain": keychain.name])
        }
        return entry
    }

    private init(entries: [Entry]) { self.entries = entries }

    /// The slots of the named module, or of all modules.
    private static func slots(
        of name: String?, _ parameters: String?, includesTrustStores: Bool
    ) throws -> [(Module, [Slot])] {
        if let name {
            // The user named this module, so its errors are reported.
            return try StandardError.silenced {
                try TokenChoice.modules(name, parameters).map { module, _ in
                    (module, try TokenChoice.slots(of: module))
                }
            }
        }
        // A module that cannot be initialised has no tokens to show. `keyfob init --token … --module …` reports the
        // reason.
        return TokenChoice.quietly(nil) { (try? Module.registered()) ?? [] }.filter { module in
            includesTrustStores || !module.profile.has(.holdsNoKeys)
        }.map { module in (module, TokenChoice.quietly(nil) { (try? module.slots()) ?? [] }) }
    }

    private static func ours(_ configurations: [KeychainConfiguration]) throws -> [Entry] {
        let named = configurations.filter { $0.module == .softHSM }.compactMap(uri)
        return try Keychains().softHSM.tokens(awaiting: named).map { token in
            let names = configurations.filter { configuration in
                configuration.module == .softHSM
                    && uri(configuration).map { $0.serial == token.serial && $0.token == token.label } ?? false
            }.map(\.name)
            return Entry(
                label: token.label, serial: token.serial, manufacturer: TokenProfile.softHSMToken.manufacturer,
                model: TokenProfile.softHSMModel,
                module: Self.ownModule, keychains: names, isOurs: true, info: nil, slot: nil)
        }
    }

    /// The names of the keychains on a token.
    static func keychains(
        on info: TokenInfo, isOurs: Bool, among configurations: [KeychainConfiguration]
    ) -> [String] {
        configurations.filter { configuration in
            (configuration.module == .softHSM) == isOurs && (uri(configuration)?.namesOrNamed(info) ?? false)
        }.map(\.name)
    }

    private static func uri(_ configuration: KeychainConfiguration) -> PKCS11URI? {
        // A keychain whose token URI is invalid is on no token.
        try? PKCS11URI(configuration.token)
    }

    /// The tokens that match a label or URI.
    ///
    /// - Throws: `KeychainError.invalidArgument` for an invalid URI; `UsageError` for an empty name, or a PIN in the
    ///   URI.
    func matches(_ name: String) throws -> [Entry] {
        // SoftHSM's slot for a new token has an empty label.
        guard !name.isEmpty else { throw UsageError.emptyName }
        guard PKCS11URI.hasScheme(name) else { return entries.filter { $0.label.isIdentical(to: name) } }
        let uri: PKCS11URI
        do { uri = try PKCS11URI(name) } catch {
            throw KeychainError(.invalidArgument, "that is not a PKCS#11 URI (RFC 7512).", cause: error)
        }
        guard !uri.hasPINValue else { throw UsageError.pinOnCommandLine }
        return entries.filter { $0.isNamed(by: uri) }
    }

    /// The one token that matches a label or URI.
    ///
    /// - Throws: `KeychainError.tokenAbsent` with the present tokens; `tokenAmbiguous`, `invalidArgument`. `UsageError`
    ///   for an empty name, or a PIN in the URI.
    func entry(_ name: String) throws -> Entry {
        let found = try matches(name)
        guard let first = found.first else {
            let present = entries.map(\.label).filter { !$0.isEmpty }.joined(separator: ", ")
            throw KeychainError(
                .tokenAbsent, "token \"\(name)\" is not present.",
                hint: "Insert it, or list the tokens: keyfob token ls. "
                    + "Present now: \(present.isEmpty ? "none" : present)",
                details: ["token": name])
        }
        guard found.count == 1 else {
            throw KeychainError(
                .tokenAmbiguous, "\(found.count) tokens are called \"\(name)\".",
                hint: "Name one: "
                    + found.map { ShellWord.quoted($0.distinction(among: found).description) }.joined(separator: ", "))
        }
        return first
    }
}

extension TokenInventory.Entry {
    /// The complete URI of the token.
    var uri: PKCS11URI {
        var uri = PKCS11URI()
        (uri.token, uri.serial, uri.manufacturer, uri.model) = (label, serial, manufacturer, model)
        return uri
    }

    /// Whether all attributes of a URI match the token, its slot and its module.
    func isNamed(by wanted: PKCS11URI) -> Bool {
        guard TokenChoice.names(wanted, uri) else { return false }
        if isOurs, !mayBeOurs(wanted) { return false }
        guard isOurs ? needsModule(wanted) : wanted.namesSlotOrModule else { return isOurs || slot != nil }
        // A token that cannot be read does not match.
        return (try? currentSlot(waiting: Keychain.Options().timeout).map { try wanted.matches($0) }) ?? false
    }

    /// Whether a URI may name a token in Keyfob's own directory, without loading the module.
    ///
    /// A process can use only one SoftHSM directory. Opening Keyfob's directory hides other SoftHSM tokens from this
    /// command. So a URI with a slot or a module, but without a token label or serial, means one of those other tokens.
    private func mayBeOurs(_ wanted: PKCS11URI) -> Bool {
        func fits(_ part: String?, _ own: String) -> Bool { part.map { $0.isIdentical(to: own) } ?? true }
        guard fits(wanted.libraryManufacturer, TokenProfile.softHSMLibrary.manufacturer),
            fits(wanted.libraryDescription, TokenProfile.softHSMLibrary.description)
        else { return false }
        return wanted.token != nil || wanted.serial != nil || !needsModule(wanted)
    }

    private func needsModule(_ wanted: PKCS11URI) -> Bool {
        wanted.namesSlot || wanted.libraryVersion != nil || wanted.moduleName != nil || wanted.modulePath != nil
    }

    /// Returns the slot that the token is in now; `nil` if the token is gone.
    ///
    /// - Parameter timeout: How long to wait for a token of Keyfob's own.
    /// - Throws: `KeychainError` or `PKCS11Error` if the token's directory or module cannot be used.
    func currentSlot(waiting timeout: Duration) throws -> Slot? {
        guard isOurs, slot == nil else { return slot }
        let directory = Keychains().softHSM
        try directory.activate()
        let deadline = Deadline.after(timeout)
        try directory.heal(deadline: deadline)
        var uri = PKCS11URI()
        uri.token = label
        uri.serial = serial
        // Excludes logins of other processes: a login empties the token's file for a moment, and SoftHSM would not find
        // the token then.
        return try directory.holdingLoginLock(until: deadline) { try directory.module().slot(matching: uri) }
    }

    /// A URI that matches this token but no other of `others`, as far as their attributes differ.
    func distinction(among others: [Self]) -> PKCS11URI {
        var uri = PKCS11URI()
        if !label.isEmpty { uri.token = label }
        if !serial.isEmpty { uri.serial = serial }
        let twins = others.filter { $0.label == label && $0.serial == serial }
        let isNameless = label.isEmpty && serial.isEmpty
        guard twins.count > 1 || isNameless else { return uri }
        (uri.manufacturer, uri.model) = (manufacturer, model)
        guard !isOurs else { return uri }
        if module.contains("/") { uri.modulePath = module } else { uri.moduleName = module }
        if isNameless || twins.filter({ $0.module == module }).count > 1 { uri.slotID = slot?.id }
        return uri
    }
}
