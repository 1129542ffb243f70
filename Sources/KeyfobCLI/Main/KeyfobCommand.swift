import ArgumentParser

/// The root of the command tree.
///
/// Commands are synchronous: the library blocks while the token does, and starting the concurrency runtime would only
/// delay the output.
struct KeyfobCommand: ParsableCommand {
    static let version = ProductVersion.text

    static let configuration = CommandConfiguration(
        "keyfob", "A keychain that is protected by a PKCS#11 token.",
        examples: Examples(
            "keyfob init",
            "keyfob set db/prod",
            "keyfob get db/prod"),
        discussion: "All commands accept the global options, before or after the verb; their --help lists them.",
        version: version,
        subcommands: [
            InitCommand.self, StatusCommand.self, UnlockCommand.self, LockCommand.self, SecretGet.self, SecretSet.self,
            SecretList.self, SecretRemove.self, SecretShow.self, SecretEdit.self, SecretGenerate.self, SecretCopy.self,
            SecretMove.self, SecretFind.self, SecretCommand.self, OTPCommand.self, RunCommand.self, InjectCommand.self,
            AgentCommand.self, IdentityCommand.self, CertificateCommand.self, KeyCommand.self, TrustCommand.self,
            TokenCommand.self, DoctorCommand.self, URICommand.self, KeychainCommand.self, PlanCommand.self,
            ApplyCommand.self, ManifestCommand.self, HelperCommand.self, SystemdCommand.self, ErrorCommand.self,
            CompletionCommand.self,
        ])
}
