import ArgumentParser
import Keyfob
import KeyfobPrimitives

/// `keyfob otp show`: shows the settings of a one-time password.
struct OTPShow: OutputCommand {
    static let configuration = CommandConfiguration(
        "show", "Show the settings of a one-time password; its seed only with --reveal.",
        examples: Examples(
            "keyfob otp show github.com",
            "keyfob otp show github.com --json",
            "keyfob otp show github.com --user alice --reveal"),
        discussion: """
            With --reveal, the otpauth URI is printed, which contains the seed. An authenticator app that gets it \
            makes the same codes.
            """)

    @Argument(help: "The name of the one-time password.", completion: NameCompletion.oneTimePasswords)
    var name: String

    @Flag(help: "Print the otpauth URI with the seed.")
    var reveal = false

    @OptionGroup(title: "Item")
    var selection: OTPSelection

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        try selection.check(name: name)
        let keychain = try global.openKeychain(warmsUpToken: true)
        let item = try selection.one(name, in: keychain)
        let generator = try keychain.oneTimePassword(of: item)
        guard !reveal || output.format.isMachineReadable else { return try SecretGet.print(generator.uri) }
        let members: Members = [
            "name": item.oneTimePasswordName, "user": item.userText, "issuer": generator.issuer,
            "account": generator.account, "algorithm": generator.algorithm.rawValue, "digits": generator.digits,
            "period": generator.period, "comment": item.value(.comment), "keychain": keychain.name,
            "created": item.attributes[.creationDate]?.date, "modified": item.modified,
        ]
        // Documents have UTC.
        let local: Members = [
            "created": item.attributes[.creationDate]?.date.map { RFC3339.local(from: $0) },
            "modified": item.modified.map { RFC3339.local(from: $0) },
        ]
        let uri: Members = reveal ? ["uri": generator.uri.copyString()] : [:]
        try output.emit(
            Document(members + item.referenceMembers + uri),
            table: Table(attributes: members.replacing(local)))
    }
}
