import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives

/// `keyfob otp get`: prints a one-time password.
struct OTPGet: OutputCommand {
    static let configuration = CommandConfiguration(
        "get", "Print the code of this moment.",
        examples: Examples(
            "keyfob otp get github.com",
            "keyfob otp get github.com --copy",
            "keyfob otp get vpn --user alice --json"),
        discussion: """
            The command does not wait for the next period. If a server refuses a code that was printed at the end of \
            its period, run the command again.
            """,
        aliases: ["code"])

    @Argument(help: "The name of the one-time password.", completion: NameCompletion.oneTimePasswords)
    var name: String

    @OptionGroup(title: "Item")
    var selection: OTPSelection

    @OptionGroup(title: "Clipboard")
    var clipboard: ClipboardOptions

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        try selection.check(name: name)
        let target = try clipboard.target()
        let keychain = try global.openKeychain(warmsUpToken: true)
        let item = try selection.one(name, in: keychain)
        let generator = try keychain.oneTimePassword(of: item)
        let code = try generator.code(at: Date())
        let members: Members = [
            "name": item.oneTimePasswordName, "user": item.userText, "keychain": keychain.name,
            "valid_until": code.validUntil, "period": generator.period,
        ]
        if let target {
            return try target.copy(
                SecretBytes(utf8: code.text), called: item.oneTimePasswordName, members, isDryRun: global.dryRun,
                output)
        }
        try output.emit(Document(members + ["code": code.text]), text: code.text)
    }
}
