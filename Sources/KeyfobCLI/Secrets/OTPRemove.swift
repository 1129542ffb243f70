import ArgumentParser
import Keyfob

/// `keyfob otp rm`: removes one-time passwords.
struct OTPRemove: OutputCommand {
    static let configuration = CommandConfiguration(
        "rm", "Remove one-time passwords permanently.",
        examples: Examples(
            "keyfob otp rm github.com",
            "keyfob otp rm github.com vpn --yes",
            "keyfob otp rm vpn --user alice --dry-run"),
        discussion: "Turn off two-factor login at the service first. Without the seed you may not get in any more.",
        aliases: ["remove", "delete"])

    @Argument(help: "The names of the one-time passwords.", completion: NameCompletion.oneTimePasswords)
    var names: [String]

    @Flag(help: "Ignore names that no one-time password has.")
    var ifExists = false

    @OptionGroup var protection: ProtectionOptions

    @OptionGroup(title: "Item")
    var selection: OTPSelection

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        for name in names { try selection.check(name: name) }
        let removal = SecretRemoval(
            noun: "one-time password", title: \.oneTimePasswordName, ifExists: ifExists, protection: protection,
            global: global)
        try removal.perform(names, in: global.openKeychain(), output) { name, keychain in
            try selection.one(name, in: keychain)
        }
    }
}
