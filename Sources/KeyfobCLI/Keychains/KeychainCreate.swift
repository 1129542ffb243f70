import ArgumentParser
import Keyfob

/// `keyfob keychain create`: creates another keychain.
struct KeychainCreate: OutputCommand {
    static let configuration = CommandConfiguration(
        "create", "Make a keychain with its own token, or on an existing token.",
        examples: Examples(
            "keyfob keychain create site",
            "keyfob keychain create ci --unattended --if-missing",
            "keyfob keychain create hsm --token hsm1 --module /usr/lib/opensc-pkcs11.so"))

    @Argument(help: "The keychain's name.")
    var name: String

    @Flag(help: "Do nothing if the keychain exists.")
    var ifMissing = false

    @OptionGroup(title: "New keychain")
    var creation: CreationOptions

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        try global.requireNoOther(than: name)
        do {
            // Checked before asking for a passphrase that would not be used.
            if try Keychains().listing().names.contains(name) {
                throw KeychainError(
                    .duplicateKeychain, "keychain \"\(name)\" exists already.", hint: "Keep it: --if-missing",
                    details: ["keychain": name])
            }
            try NewKeychain(name: name, options: creation, global: global, output: output).make()
        } catch let error as KeychainError where error.code == .duplicateKeychain && ifMissing {
            try NewKeychain.reportExisting(
                name, sentence: "Unchanged: keychain \"\(name)\" exists.", global: global, output)
        }
    }
}
