import ArgumentParser
import Keyfob
import PKCS11

/// `keyfob init`: creates the first keychain.
struct InitCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "init", "Make the first keychain: its token, its wrapping key and its vault.",
        examples: Examples(
            "keyfob init",
            "keyfob init --unattended --json",
            "keyfob init --keychain site --token hsm1 --pin-source credential:keyfob-site"),
        discussion:
            "Run again, it checks that the keychain opens, and changes nothing. --token selects an existing token, "
            + "which is never initialised. The keychain becomes the default if there is none, except with "
            + "--unattended and a name other than login. A keychain with a passphrase or PIN is left unlocked; in "
            + "documents, \"unlocked\" is false if it is locked, and null if it has neither. The document of a run "
            + "that changes nothing has the same members; those that only a creation determines are null.")

    @OptionGroup(title: "New keychain")
    var creation: CreationOptions

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        let keychains = Keychains()
        let name = try global.keychainName ?? keychains.defaultName() ?? Keychains.usualName
        if try isThere(name, keychains, output) { return }
        do {
            try NewKeychain(name: name, options: creation, global: global, output: output, isFirstRun: true).make()
        } catch let error as KeychainError where error.code == .duplicateKeychain {
            // Another process has created the keychain in the meantime, or there is a token of that name without its
            // keychain.
            guard try isThere(name, keychains, output) else { throw error }
        }
    }

    /// Whether the keychain exists. If so, checks that it opens and reports it.
    ///
    /// - Throws: `KeychainError.duplicateKeychain` if it is on another token than the wanted one; the errors of opening
    ///   it.
    private func isThere(_ name: String, _ keychains: Keychains, _ output: Output) throws -> Bool {
        guard try keychains.listing().names.contains(name) else { return false }
        let keychain = try Keychain.open(name, options: global.keychainOptions())
        let label = try PKCS11URI(keychain.configuration.token).token ?? ""
        if let wanted = global.token, try !GlobalOptions.isOn(TokenChoice.uri(wanted), keychain.configuration) {
            throw KeychainError(
                .duplicateKeychain, "keychain \"\(name)\" exists already, on token \"\(TerminalSafe.text(label))\".",
                hint: "Give the new one another name: --keychain NAME", details: ["keychain": name])
        }
        let isOpen = try keychain.checkOpening()
        let how = isOpen ? "exists and works" : "exists; it is locked, and its token is present"
        try NewKeychain.reportExisting(
            name, isOpened: isOpen, sentence: "Nothing to do: keychain \"\(name)\" \(how).", global: global, output)
        return true
    }
}
