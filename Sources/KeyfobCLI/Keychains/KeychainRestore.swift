import ArgumentParser
import Foundation
import Keyfob

/// `keyfob keychain restore`: makes a keychain from a backup.
struct KeychainRestore: OutputCommand {
    static let configuration = CommandConfiguration(
        "restore", "Make a keychain from a backup.",
        examples: Examples(
            "keyfob keychain restore login.tar",
            "keyfob keychain restore login.tar --dry-run",
            "keyfob keychain restore login.tar --name old-login"),
        discussion:
            """
            The whole file is checked before anything is written. The keychain opens with the PIN or passphrase that it \
            had. An existing keychain is never changed: to go back to a backup, remove the keychain first.
            """)

    @Argument(help: "The backup.", completion: .file())
    var file: String

    @Option(help: ArgumentHelp("Give the keychain another name.", valueName: "keychain"))
    var name: String?

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        let (keychains, url) = (Keychains(), URL(fileURLWithPath: file).standardizedFileURL)
        let restored =
            try global.dryRun ? keychains.checkBackup(at: url, as: name) : keychains.restore(from: url, as: name)
        let document = Document(
            global.effect(.create),
            [
                "keychain": restored.keychain, "contains_token": restored.containsToken,
                "contains_pin": restored.containsPIN,
            ])
        let keys = restored.containsToken ? "" : " Its keys and certificates are on its token."
        try output.emit(
            document,
            sentence: global.dryRun
                ? "Would restore keychain \"\(restored.keychain)\"."
                : "Restored keychain \"\(restored.keychain)\".\(keys)")
    }
}
