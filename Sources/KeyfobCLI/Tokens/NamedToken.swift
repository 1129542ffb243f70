import Keyfob
import PKCS11

/// A token that the user named, for commands that change the token itself.
struct NamedToken {
    let entry: TokenInventory.Entry
    /// The name that the user gave.
    let name: String

    /// Finds the one token with this label or URI, also one that was never initialised.
    ///
    /// Blocks while modules are loaded, but Keyfob's own tokens are found without.
    ///
    /// - Throws: `KeychainError.tokenAbsent`, `tokenAmbiguous`, `moduleNotLoaded`; `UsageError` for an empty name or a
    ///   PIN in the URI, and if `--token` names another token.
    init(_ name: String, _ global: GlobalOptions, _ location: ModuleOptions? = nil) throws {
        if let token = global.token {
            guard try TokenChoice.uri(name) == TokenChoice.uri(token) else {
                throw UsageError(
                    "NAME and --token name different tokens; nothing was changed.", hint: "Give one of the two.")
            }
        }
        self.name = name
        entry = try TokenInventory.entry(name, global, location)
    }

    /// The token in Keyfob's own directory; `nil` for a token of another kind.
    ///
    /// - Throws: `KeychainError` if the directory cannot be read.
    func own() throws -> SoftHSMToken? {
        guard entry.isOurs else { return nil }
        return try Keychains().softHSM.token(serial: entry.serial, label: entry.label)
    }

    /// The token's label, or the name that the user gave for one without a label.
    var title: String { TerminalSafe.text(entry.label.isEmpty ? name : entry.label) }

    /// Refuses to destroy a token that holds keychains of the user, unless `--keychain` names the only one.
    ///
    /// - Throws: `KeychainError.refused`; `UsageError` if `--keychain` names a keychain that is not on the token.
    func requireNoOtherKeychain(_ global: GlobalOptions, doing verb: String) throws {
        let keychains = try self.keychains()
        if let keychain = global.keychain {
            guard keychains.contains(where: { $0.isIdentical(to: keychain) }) else {
                throw UsageError(
                    "keychain \"\(keychain)\" is not on token \"\(title)\"; nothing was changed.",
                    hint: "Leave out --keychain. Tokens and keychains: keyfob token ls")
            }
            if keychains.count == 1 { return }
        }
        guard let first = keychains.first else { return }
        let list = keychains.map { "\"\($0)\"" }.joined(separator: ", ")
        throw KeychainError(
            .refused,
            "token \"\(title)\" holds keychain \(list), which could not be opened any more; nothing was changed.",
            remedies: [
                Remedy("Remove the keychain first", .removeKeychain(first)),
                Remedy(
                    "To \(verb) the token all the same, name its only keychain too: "
                        + ShellWord.option("--keychain", first)),
            ],
            details: ["token": entry.label, "keychain": first])
    }

    /// The keychains on the token. Keyfob's own tokens are compared by their serial number alone, since a renaming that
    /// was killed leaves another label in the configuration.
    ///
    /// - Throws: `KeychainError.refused` if a configuration cannot be read, since its keychain may be on the token.
    private func keychains() throws -> [String] {
        let listing = try Keychains().listing()
        if let damaged = listing.damaged.first {
            throw KeychainError(
                .refused,
                "the configuration of keychain \"\(damaged.name)\" cannot be read, so it is not known whether it uses "
                    + "token \"\(title)\"; nothing was changed.",
                remedies: damaged.error.remedies, details: ["token": entry.label, "keychain": damaged.name])
        }
        guard entry.isOurs else { return entry.keychains }
        return listing.keychains.filter { configuration in
            // A keychain whose token URI is invalid is on no token.
            configuration.module == .softHSM && (try? PKCS11URI(configuration.token))?.serial == entry.serial
        }.map(\.name)
    }

    /// The members that name the token in a document.
    var members: Members {
        ["token": entry.label, "token_serial": entry.serial, "token_uri": entry.uri.description, "own": entry.isOurs]
    }

    /// The same members for a token that does not exist.
    static func members(ofMissing name: String) -> Members {
        ["token": name, "token_serial": Value.null, "token_uri": Value.null, "own": Value.null]
    }
}
