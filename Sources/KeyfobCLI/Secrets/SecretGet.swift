import ArgumentParser
import CLinux
import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// `keyfob get`: prints a secret.
struct SecretGet: OutputCommand {
    static let configuration = CommandConfiguration(
        "get", "Print a secret.",
        examples: Examples(
            "keyfob get db/prod",
            "keyfob get db/prod --user app --copy --for 30s",
            "keyfob get tls/session-key --raw > key.bin"),
        discussion: """
            Text is printed with a newline; binary values, and all values with --raw, are printed unchanged. NAME is \
            the name that keyfob ls shows. If no item has that name, a server or a label also matches.
            """)

    @Argument(help: "The item's name.", completion: NameCompletion.passwords)
    var name: String

    @Flag(name: [.customShort("n"), .long], help: "Print only the bytes, without a newline after text.")
    var raw = false

    @Flag(help: "Also print binary values to a terminal.")
    var force = false

    @Option(
        name: [.customShort("o"), .long],
        help: ArgumentHelp(
            "Write only the bytes to a file that only you can read; - is standard output.", valueName: "file"),
        completion: .file())
    var output: String?

    @OptionGroup(title: "Clipboard")
    var clipboard: ClipboardOptions

    @OptionGroup(title: "Item")
    var selection: SecretSelection

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        try selection.check(name: name)
        let target = try clipboard.target()
        if target != nil, self.output != nil || raw || force {
            throw UsageError("--copy and -o, --raw or --force exclude each other.", hint: "Give one of them.")
        }
        let keychain = try global.openKeychain(warmsUpToken: true)
        let item = try selection.choice.one(name, in: keychain)
        try item.requireNoOneTimePassword(in: keychain)
        let secret = try Self.secret(of: item, in: keychain)
        if let target {
            let members: Members = ["name": item.nameText, "user": item.userText, "keychain": keychain.name]
            return try target.copy(secret, called: item.nameText, members, isDryRun: global.dryRun, output)
        }
        if let file = self.output, file != "-" {
            let action = try FileDestination(path: file, mode: 0o600).action(of: secret)
            if global.dryRun {
                try output.say("Dry run: no file was written.")
            } else {
                try Self.write(secret, to: file)
            }
            guard output.format.isMachineReadable else { return }
            return try output.emit(
                Document(
                    global.effect(action),
                    [
                        "name": item.nameText, "user": item.userText, "keychain": keychain.name, "file": file,
                        "written": !global.dryRun,
                    ]), sentence: "")
        }
        if self.output != nil, !output.format.isMachineReadable {
            return try Self.print(secret, raw: true, force: force)
        }
        if output.format.isMachineReadable {
            let members: Members = ["name": item.nameText, "user": item.userText, "keychain": keychain.name]
            return try output.emit(Document(members + Self.members(secret)), sentence: "")
        }
        try Self.print(secret, raw: raw, force: force)
    }

    /// Prints a secret, with a newline after text unless `raw` is set. Binary data goes to a terminal only with
    /// `force`.
    static func print(_ secret: SecretBytes, raw: Bool = false, force: Bool = false) throws {
        try SensitiveOutput.write(secret, isPrivateKey: false, force: force)
        if !raw, SensitiveOutput.isReadable(secret) { try StandardOutput.write("\n") }
    }

    private static func write(_ secret: SecretBytes, to path: String) throws {
        guard case .file(let file) = try FileTarget(path) else {
            throw KeychainError(
                .refused, "\(TerminalSafe.text(path)) is not a regular file.",
                hint: "Leave -o out and redirect: > \(ShellWord.quoted(path))")
        }
        try PrivateFile.write(secret, to: URL(fileURLWithPath: file))
    }

    /// The secret of an item that must have one.
    ///
    /// - Throws: `KeychainError.itemNotFound` if the item has no secret.
    static func secret(of item: Item, in keychain: Keychain) throws -> SecretBytes {
        guard let secret = try keychain.secret(of: item) else {
            throw KeychainError(
                .itemNotFound,
                "\"\(TerminalSafe.text(item.nameText))\" in keychain \"\(keychain.name)\" has no secret.",
                hint: "Add one: " + Wording(keychain: keychain.name).keyfob("set " + item.words(and: " --replace")))
        }
        return secret
    }

    /// The members of a secret: `value` for text, else `value_b64`; the other one is null.
    ///
    /// - Parameter secret: `nil` if it is not printed.
    static func members(_ secret: SecretBytes?) -> Members {
        let text = secret?.copyString()
        return ["value": text, "value_b64": text == nil ? secret.map { Value.base64($0.copyData()) } : nil]
    }
}
