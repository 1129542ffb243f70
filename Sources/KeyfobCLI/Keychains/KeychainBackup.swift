import ArgumentParser
import Foundation
import Keyfob

/// `keyfob keychain backup`: writes a backup of a keychain.
struct KeychainBackup: OutputCommand {
    static let configuration = CommandConfiguration(
        "backup", "Write a backup of a keychain to one file.",
        examples: Examples(
            "keyfob keychain backup login.tar",
            "keyfob keychain backup site.tar --keychain site",
            "keyfob keychain backup login.tar --force"),
        discussion:
            """
            Works while other programs use the keychain. The file, a tar archive, contains the configuration, the vault \
            and, if keyfob made the token, the token's files. The keys on any other token stay there. A keychain with a \
            passphrase needs the passphrase again after it is restored. The backup of an unattended keychain contains the \
            token's PIN: keep it like a key.
            """)

    @Argument(help: "The new file.", completion: .file())
    var file: String

    @Flag(help: "Replace the file if it exists.")
    var force = false

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        let keychains = Keychains()
        let name = try keychains.configuration(global.selectedKeychainName(argument: nil)).name
        let url = URL(fileURLWithPath: file).standardizedFileURL
        let action: Effect.Action = FileManager.default.fileExists(atPath: url.path) ? .update : .create
        if global.dryRun {
            return try output.emit(
                document(action, name, url, nil),
                sentence: "Would write a backup of keychain \"\(name)\" to \(TerminalSafe.text(file)).")
        }
        let made = try keychains.backUp(name, to: url, isReplacing: force, timeout: global.patience)
        var sentences = ["Wrote a backup of keychain \"\(name)\" to \(TerminalSafe.text(file))."]
        if !made.containsToken {
            sentences.append("Its keys and certificates stay on the token and are not in the file.")
        }
        if made.containsPIN { sentences.append("The file contains the token's PIN: keep it like a key.") }
        try output.emit(document(action, name, url, made), sentence: sentences.joined(separator: "\n"))
    }

    private func document(
        _ action: Effect.Action, _ name: String, _ url: URL, _ made: Keychains.Backup?
    ) -> Document {
        Document(
            global.effect(action),
            [
                "keychain": name, "file": url.path, "contains_token": made?.containsToken,
                "contains_pin": made?.containsPIN,
            ])
    }
}
