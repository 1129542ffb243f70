import ArgumentParser

/// `keyfob keychain`: the keychains of a user.
struct KeychainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "keychain", "Make, list, set up, check, back up and remove keychains.",
        examples: Examples(
            "keyfob keychain ls",
            "keyfob keychain create site --unattended",
            "keyfob keychain default site"),
        subcommands: [
            KeychainCreate.self, KeychainList.self, KeychainShow.self, KeychainCheck.self, KeychainDefault.self,
            KeychainPassphrase.self, KeychainRecoveryCode.self, KeychainRename.self, KeychainSettingsCommand.self,
            KeychainBackup.self, KeychainRestore.self, KeychainRepoint.self, KeychainRemove.self,
        ])
}
