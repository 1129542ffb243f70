import ArgumentParser
import Keyfob

/// `keyfob keychain recovery-code`: makes a new recovery code.
struct KeychainRecoveryCode: OutputCommand {
    static let configuration = CommandConfiguration(
        "recovery-code", "Make a new recovery code for a keychain; the former one stops working.",
        examples: Examples(
            "keyfob keychain recovery-code",
            "keyfob keychain recovery-code site --recovery-file /media/usb/site.txt",
            "keyfob keychain recovery-code site --recovery"),
        discussion: """
            The passphrase is asked for first; --pin-source gives it, or the former code with --recovery. A copy of the \
            keychain made before still opens with the former code.
            """)

    @Argument(help: "The keychain.", completion: NameCompletion.keychains)
    var name: String?

    @Flag(help: "Use the former recovery code instead of the passphrase.")
    var recovery = false

    @Option(
        help: ArgumentHelp(
            "The file for the code; an existing file is never overwritten; - is standard output.", valueName: "file"),
        completion: .file())
    var recoveryFile: String?

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        try RecoveryFile.check(recoveryFile, output)
        let keychain = try Keychain.open(
            global.selectedKeychainName(argument: name), options: global.keychainOptions())
        try keychain.requireOwnProtection()
        if global.dryRun {
            return try output.emit(
                document(keychain, RecoveryFile.planned(recoveryFile)),
                sentence: "Would make a new recovery code for keychain \"\(keychain.name)\".")
        }
        let protection = try keychain.protection(isRecoveryCode: recovery)
        let file = try RecoveryFile(keychain: keychain.name, path: recoveryFile)
        _ = try file.keeping { try protection.replaceRecoveryCode(saving: file.write) }
        if file.path == "-" { return }
        let former = keychain.configuration.recoverySeal == nil ? "" : "The former code no longer works. "
        try output.emit(
            document(keychain, file.path),
            sentence: "\(former)New recovery code saved to \(HomePath.shown(file.path)). Move it off this machine, "
                + "then delete it.")
    }

    private func document(_ keychain: Keychain, _ file: String?) -> Document {
        Document(global.effect(.update), ["keychain": keychain.name, "recovery_file": file])
    }
}
