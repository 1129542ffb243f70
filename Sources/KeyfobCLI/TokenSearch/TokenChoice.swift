import Foundation
import Keyfob
import KeyfobPrimitives
import PKCS11

/// Finds the token that a user names, in all modules of the machine.
enum TokenChoice {
    /// A token, and where to find it again.
    struct Found {
        let info: TokenInfo
        /// The URI that the user gave, which may contain a PIN source.
        let uri: PKCS11URI
        let location: ModuleLocation
    }

    /// Finds the one initialised token with this label or URI.
    ///
    /// Blocks while it loads modules: the given one, else the URI's, else the environment's, else all registered ones.
    ///
    /// - Throws: `KeychainError.tokenAbsent` with the present tokens; `tokenAmbiguous`; `moduleNotLoaded`; `refused`
    ///   for a token that is not initialised or that Keyfob made. `UsageError` for an empty name, a malformed URI or a
    ///   PIN in it.
    static func find(
        _ name: String?, module: String?, parameters: String? = nil, environmentModule: String?
    ) throws -> Found {
        let uri = try self.uri(name)
        let named = module ?? uri.modulePath ?? uri.moduleName ?? environmentModule
        let candidates = try modules(named, parameters)
        var found: [Found] = []
        var present: [String] = []
        for (loaded, location) in candidates {
            do {
                for slot in try quietly(named, { try loaded.slots() }) {
                    let info = try quietly(named) { try slot.tokenInfo() }
                    if info.flags.contains(.tokenInitialized), !info.label.isEmpty { present.append(info.label) }
                    if uri.matches(info), try quietly(named, { try uri.matches(slot) }) {
                        found.append(Found(info: info, uri: uri, location: location))
                    }
                }
            } catch {
                // A failing module, for example without its device, is skipped if there are others.
                guard candidates.count == 1 else { continue }
                throw silent(loaded, error)
            }
        }
        let initialized = found.filter { $0.info.flags.contains(.tokenInitialized) }
        guard let token = initialized.first else {
            guard found.isEmpty else {
                throw KeychainError(
                    .refused, "the token is not initialised.",
                    hint: "Initialise it: keyfob token init \(ShellWord.operand(name ?? "NAME")). "
                        + "If it has no PIN yet: keyfob token pin set \(ShellWord.operand(name ?? "NAME"))")
            }
            if let name, let own = try TokenInventory.own().matches(name).first {
                let keychains = own.keychains.map { "\"\($0)\"" }.joined(separator: ", ")
                throw KeychainError(
                    .refused,
                    "token \"\(TerminalSafe.text(own.label))\" was made by keyfob"
                        + (keychains.isEmpty ? "." : ", for keychain \(keychains)."),
                    hint: "To make a keychain with its own token: keyfob keychain create NAME")
            }
            let names = Set(present).sorted().map { TerminalSafe.text($0) }.joined(separator: ", ")
            throw KeychainError(
                .tokenAbsent,
                name.map { "token \"\(TerminalSafe.text($0))\" is not present." }
                    ?? "the module has no initialised token.",
                hint: "Insert it, or list the tokens: keyfob token ls"
                    + (names.isEmpty ? "" : ". Present now: \(names)"),
                details: name.map { ["token": $0] } ?? [:])
        }
        guard initialized.count == 1 else {
            throw KeychainError(
                .tokenAmbiguous,
                name.map { "\(initialized.count) tokens match \"\(TerminalSafe.text($0))\"." }
                    ?? "the module has \(initialized.count) tokens.",
                hint: "Name one by its URI: " + initialized.map { $0.info.uri.description }.joined(separator: "  "))
        }
        return token
    }

    /// Whether a URI that a user wrote matches a complete token URI. Missing attributes match any value.
    static func names(_ wanted: PKCS11URI, _ token: PKCS11URI) -> Bool {
        let parts: [KeyPath<PKCS11URI, String?>] = [\.token, \.manufacturer, \.model, \.serial]
        return wanted.unrecognizedAttributes.isEmpty
            && parts.allSatisfy { part in
                // Compares bytes, because Swift's == treats canonically equivalent strings as equal.
                wanted[keyPath: part].map { $0.isIdentical(to: token[keyPath: part] ?? "") } ?? true
            }
    }

    /// Converts a label, or a URI that a user wrote.
    ///
    /// - Throws: `UsageError` for an empty label, a malformed URI, or a PIN in it.
    static func uri(_ name: String?) throws -> PKCS11URI {
        guard let name else { return PKCS11URI() }
        guard !name.isEmpty else { throw UsageError.emptyName }
        guard PKCS11URI.hasScheme(name) else {
            var uri = PKCS11URI()
            uri.token = name
            return uri
        }
        do {
            let uri = try PKCS11URI(name)
            guard !uri.hasPINValue else { throw UsageError.pinOnCommandLine }
            return uri
        } catch let error as PKCS11URIError {
            throw UsageError("that is not a PKCS#11 URI: \(error)", hint: "Example: pkcs11:token=hsm1;serial=0123")
        }
    }

    /// The module in a token's URI; `nil` for a label or an invalid URI.
    static func moduleName(in name: String) -> String? {
        // The search for the token reports invalid names.
        guard PKCS11URI.hasScheme(name), let uri = try? PKCS11URI(name) else { return nil }
        return uri.modulePath ?? uri.moduleName
    }

    /// Refuses parameters without the one that the library needs, since it may crash without it.
    private static func check(_ parameters: String, of path: String) throws(UsageError) {
        let profile = TokenProfile(of: .init(file: path))
        guard let required = profile.requiredParameter, !parameters.contains(required) else { return }
        throw UsageError(
            "the parameters of this module have no \(required.dropLast()).",
            hint: "Example: --module-parameters " + profile.parameterExample)
    }

    /// Returns the slots of a module that the user named.
    ///
    /// - Throws: `KeychainError.moduleNotLoaded`.
    static func slots(of module: Module) throws -> [Slot] {
        do { return try module.slots() } catch { throw silent(module, error) }
    }

    private static func silent(_ module: Module, _ error: any Error) -> KeychainError {
        KeychainError(
            .moduleNotLoaded,
            "PKCS#11 module \"\(TerminalSafe.text(module.name ?? module.path))\" does not list its tokens.",
            hint: "Check that its device is plugged in and its service is running.", cause: error)
    }

    /// Runs `body`, which uses modules. Suppresses what they print, unless the user named a module.
    ///
    /// Some modules print greetings or complain about missing cards. Programs that read standard error would get these
    /// lines.
    static func quietly<Result>(_ name: String?, _ body: () throws -> Result) rethrows -> Result {
        name == nil ? try StandardError.silenced(body) : try body()
    }

    /// Returns the module with a path or name, else all modules that p11-kit knows. Blocks while they are loaded.
    ///
    /// - Throws: `KeychainError.moduleNotLoaded`.
    static func modules(_ name: String?, _ parameters: String? = nil) throws -> [(Module, ModuleLocation)] {
        guard parameters == nil || name?.contains("/") == true else {
            throw UsageError(
                "--module-parameters is for a module that is named by its path.",
                hint: "p11-kit has the parameters of its modules in its configuration (x-init-reserved).")
        }
        do {
            guard let name else {
                return try quietly(nil) { try Module.registered() }.map {
                    ($0, $0.name.map { .registered($0) } ?? .path($0.path))
                }
            }
            if name.contains("/") {
                let path = URL(fileURLWithPath: name).standardizedFileURL.path
                if let parameters { try check(parameters, of: path) }
                return [
                    (
                        try Module.load(path: path, initializationArguments: parameters),
                        .path(path, parameters: parameters)
                    )
                ]
            }
            guard let module = try Module.registered(named: name) else {
                throw KeychainError(
                    .moduleNotLoaded, "PKCS#11 module \"\(TerminalSafe.text(name))\" is not configured.",
                    hint: "Give its path, such as /usr/lib/…/module.so (--module, KEYFOB_MODULE). "
                        + "The names that p11-kit knows: p11-kit list-modules",
                    details: ["module": name])
            }
            return [(module, .registered(name))]
        } catch let error as PKCS11Error {
            throw KeychainError.module(error, named: name, parameters: parameters)
        }
    }
}
