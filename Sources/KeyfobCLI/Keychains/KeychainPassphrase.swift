import ArgumentParser
import Keyfob

/// `keyfob keychain passphrase`: changes how a keychain is protected.
struct KeychainPassphrase: OutputCommand {
    static let configuration = CommandConfiguration(
        "passphrase", "Change the passphrase of a keychain, or replace one that was forgotten.",
        examples: Examples(
            "keyfob keychain passphrase",
            "keyfob keychain passphrase site --recovery",
            "keyfob keychain passphrase site --unattended"),
        discussion: """
            The present passphrase is asked for first; --pin-source gives it, or the recovery code with --recovery. A \
            keychain that opens unattended gets a passphrase, and with --unattended it needs none any longer. Items \
            and the recovery code stay as they are. A copy of the keychain made before still opens with the former \
            passphrase.
            """)

    @Argument(help: "The keychain.", completion: NameCompletion.keychains)
    var name: String?

    @Flag(help: "Use the recovery code instead of the present passphrase.")
    var recovery = false

    @Flag(help: "Keep the token's PIN in a private file from now on, so that no passphrase is needed.")
    var unattended = false

    @Option(
        help: ArgumentHelp(
            "Where the new passphrase comes from: prompt, env:NAME, file:PATH, fd:N, credential:NAME, …",
            valueName: "source"))
    var newPinSource: String?

    @OptionGroup var passphrase: NewPassphrase

    @Option(
        help: ArgumentHelp(
            "The file for the recovery code of a keychain that has none yet; - is standard output.", valueName: "file"),
        completion: .file())
    var recoveryFile: String?

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func validate() throws {
        EnvironmentVariable.withhold(namedBy: newPinSource)
        if unattended, newPinSource != nil || recoveryFile != nil || passphrase.allowWeak {
            throw ValidationError("--unattended uses no passphrase, so it excludes the options of a new one.")
        }
    }

    func run(_ output: Output) throws {
        let newSource = try newPinSource.map { try PINSource(parsing: $0) }
        try RecoveryFile.check(recoveryFile, output)
        let keychain = try Keychain.open(
            global.selectedKeychainName(argument: name), options: global.keychainOptions())
        let former = keychain.configuration
        try keychain.requireOwnProtection()
        let isUnattended = former.sealedPIN == nil
        let makesCode = !unattended && former.recoverySeal == nil
        guard makesCode || recoveryFile == nil else {
            throw UsageError(
                "keychain \"\(keychain.name)\" has a recovery code, which stays valid; nothing was changed.",
                hint: "Leave out --recovery-file. For a new code: keyfob keychain recovery-code \(keychain.name)")
        }
        if isUnattended, unattended {
            return try emit(former, false, "Unchanged: keychain \"\(keychain.name)\" needs no passphrase.", output)
        }
        if global.dryRun {
            let change = isUnattended ? "give keychain \"\(keychain.name)\" a passphrase"
                : unattended ? "open keychain \"\(keychain.name)\" without a passphrase"
                : "change the passphrase of keychain \"\(keychain.name)\""
            return try emit(
                former, true, "Would \(change).", output,
                recoveryFile: makesCode ? RecoveryFile.planned(recoveryFile) : nil)
        }
        let protection = try keychain.protection(isRecoveryCode: recovery)
        if unattended {
            let changed = try protection.removePassphrase()
            return try emit(
                changed, true,
                "Keychain \"\(keychain.name)\" needs no passphrase any longer.\n" + changed.opennessBySource, output)
        }
        let new = try passphrase.read(
            from: newSource, keychain: keychain.name,
            prompt: "New passphrase for keychain \"\(keychain.name)\": ",
            hint: "Give its source: --new-pin-source file:… | credential:… | env:…", global)
        let kept = newSource.flatMap(NewPassphrase.lasting)
        let file = try makesCode ? RecoveryFile(keychain: keychain.name, path: recoveryFile) : nil
        let changed: KeychainConfiguration
        if let file {
            changed = try file.keeping {
                try protection.setPassphrase(new, source: kept, savingRecoveryCode: file.write)
            }
        } else {
            changed = try protection.setPassphrase(new, source: kept)
        }
        if file?.path == "-" { return }
        var sentences = [
            isUnattended ? "Keychain \"\(keychain.name)\" has a passphrase now."
                : "Changed the passphrase of keychain \"\(keychain.name)\".",
        ]
        if let file {
            sentences.append(
                "Recovery code saved to \(HomePath.shown(file.path)). Move it off this machine, then delete it.")
        }
        if changed.opensUnasked {
            sentences.append(changed.opennessBySource)
        } else if !isUnattended, former.opensUnasked, let source = former.pinSourceName {
            sentences.append("You are asked for it from now on; it no longer comes from \(source).")
        }
        try emit(changed, true, sentences.joined(separator: "\n"), output, recoveryFile: file?.path)
    }

    private func emit(
        _ configuration: KeychainConfiguration, _ isChange: Bool, _ sentence: String, _ output: Output,
        recoveryFile: String? = nil
    ) throws {
        try output.emit(
            Document(
                global.effect(isChange ? .update : .none),
                [
                    "keychain": configuration.name, "pin_source": configuration.pinSourceName,
                    "protection": configuration.protection, "recovery_file": recoveryFile,
                ]), sentence: sentence)
    }
}
