import ArgumentParser
import Keyfob
import KeyfobPrimitives

/// `keyfob otp set`: stores the seed of one-time passwords.
struct OTPSet: OutputCommand {
    static let configuration = CommandConfiguration(
        "set", "Store the seed of one-time passwords.",
        examples: Examples(
            "keyfob otp set github.com",
            "keyfob otp set github.com --user alice --stdin < token.txt",
            "keyfob otp set vpn --from-file vpn.txt --replace"),
        discussion: """
            The value is the text of the service's QR code, such as otpauth://totp/ACME:alice?secret=…, or the seed \
            alone in base32, which services show as "setup key". A seed alone makes codes of 6 digits every 30 \
            seconds with SHA-1. zbarimg --raw reads the image of a QR code. Counter-based passwords (otpauth://hotp) \
            are not supported.
            """)

    @Argument(help: "The name of the one-time password.", completion: NameCompletion.oneTimePasswords)
    var name: String

    @Argument(help: .hidden)
    var rest: [String] = []

    @OptionGroup(title: "Value")
    var input: SecretInput

    @OptionGroup(title: "Existing items")
    var storing: SecretStoring

    @OptionGroup(title: "Item")
    var selection: OTPSelection

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        guard rest.isEmpty else {
            let user = selection.user.map { " --user=\(ShellWord.quoted($0))" } ?? ""
            throw UsageError.secretOnCommandLine(item: name, options: user, verb: "otp set")
        }
        try selection.check(name: name)
        try SecretSelection.requireNoReference(name)
        try storing.check()
        try input.check(global)
        var new = OneTimePasswordItem.new(name, user: selection.user ?? "")
        if let label = storing.label { new.attributes[.label] = .string(label) }
        if let comment = storing.comment { new.attributes[.comment] = .string(comment) }
        let keychain = try global.openKeychain()
        var isRead = false
        let (action, item) = try storing.store(new, called: name, in: keychain, isDryRun: global.dryRun) {
            if global.dryRun, input.asks(global) { return nil }
            isRead = true
            return try OneTimePassword(parsing: input.read(name: name, global)).uri
        }
        if !isRead { input.discard(global) }
        try SecretStoring.report(
            global.effect(action), name, item, keychain, output,
            replacing: ["name": item.oneTimePasswordName])
    }
}
