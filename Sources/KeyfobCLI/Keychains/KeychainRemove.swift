import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives

/// `keyfob keychain rm`: removes a keychain and its content.
struct KeychainRemove: OutputCommand {
    static let configuration = CommandConfiguration(
        "rm", "Remove a keychain, its passwords, and the token if keyfob made it.",
        examples: Examples(
            "keyfob keychain rm site",
            "keyfob keychain rm site --dry-run",
            "keyfob keychain rm ci --yes"),
        discussion:
            "The same command finishes a removal that was interrupted. If the configuration of a keychain is damaged, "
            + "its token is unknown: the keychain is only removed from the list, and its files and token stay.",
        aliases: ["remove", "delete"])

    @Argument(help: "The keychain.", completion: NameCompletion.keychains)
    var name: String

    @Flag(help: "Succeed if there is no such keychain.")
    var ifExists = false

    @Flag(help: "Remove it even if the token that keyfob made for it is missing; also removes the token's PIN.")
    var withoutToken = false

    @Flag(help: "Remove it even if its vault is missing; also removes a token that keyfob made, with all its keys.")
    var withoutVault = false

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        do { try remove(output) } catch let error as KeychainError
            where ifExists && [.noSuchKeychain, .notInitialized].contains(error.code)
        {
            try report(output, "Nothing to do: there is no keychain \"\(TerminalSafe.text(name))\".", .none)
        }
    }

    private func remove(_ output: Output) throws {
        _ = try global.selectedKeychainName(argument: name)
        let keychains = Keychains()
        let what: String
        var stays = ""
        switch try keychains.removal(
            of: name, withoutToken: withoutToken, withoutVault: withoutVault, timeout: global.patience)
        {
        case .whole(let configuration):
            let isVaultGone = keychains.lacksVault(configuration)
            if withoutToken, try keychains.ownToken(of: configuration, until: .after(global.patience)) != .present {
                what = "with its passwords and the PIN of its token; the token was not found and is not removed"
                stays = " Its token was not found and is not removed; its PIN is gone."
            } else if configuration.module == .softHSM {
                what = isVaultGone
                    ? "with its keys and certificates; its vault was not found and is not removed"
                    : "with its passwords, keys and certificates"
            } else if !configuration.takesPasswords {
                what = "from the list; keys and certificates stay on the token"
                stays = " Its keys and certificates stay on the token."
            } else {
                what = "with its passwords; keys and certificates stay on the token"
                let key = "the key that sealed the passwords"
                let label = "\"\(TerminalSafe.text(wrappingKeyName(configuration, keychains)))\""
                stays = switch hasWrappingKey(configuration, keychains) {
                case true?: " Its keys and certificates stay on the token, and with them \(key): \(label)."
                case false?: " Its keys and certificates stay on the token; \(key), \(label), no longer exists."
                case nil: " Its keys and certificates stay on the token, and so does \(key), if it is there: \(label)."
                }
            }
            if isVaultGone { stays += " Its vault was not found and is not removed." }
        case .rest:
            what = "with the files that an interrupted removal or creation has left"
        case .configuration:
            what = "from the list; its configuration cannot be read, so its token, PIN and vault stay"
            let place = HomePath.shown(keychains.directories.data.appendingPathComponent("keychains").path)
            stays = " Its token, PIN and vault stay: \(place)/.\(name).*.kept"
        }
        if global.dryRun {
            return try report(output, "Would remove keychain \"\(name)\" \(what).", .delete)
        }
        try Confirmation(global).require(
            "Remove keychain \"\(name)\" \(what)? This cannot be undone.", typing: name)
        try keychains.delete(
            name, withoutToken: withoutToken, withoutVault: withoutVault, timeout: global.patience)
        try report(output, "Removed keychain \"\(name)\".\(stays)", .delete)
    }

    private func wrappingKeyName(_ configuration: KeychainConfiguration, _ keychains: Keychains) -> String {
        // A keychain that cannot be read can still be removed.
        let keychain = try? keychains.open(configuration, options: global.keychainOptions())
        return (try? keychain?.objects.wrappingKeyNames().first) ?? configuration.wrappingKeyLabel
    }

    /// Whether the token has the wrapping key of the keychain; `nil` if that is unknown without a login, which a
    /// removal does not require.
    private func hasWrappingKey(_ configuration: KeychainConfiguration, _ keychains: Keychains) -> Bool? {
        do {
            let keychain = try keychains.open(configuration, options: global.keychainOptions())
            guard keychain.isUnlocked else { return nil }
            return try keychain.integrity.missingWrappingKeys().isEmpty
        } catch {
            // A keychain that cannot be read can still be removed.
            return nil
        }
    }

    private func report(_ output: Output, _ sentence: String, _ action: Effect.Action) throws {
        try output.emit(Document(global.effect(action), ["keychain": name]), sentence: sentence)
    }
}
