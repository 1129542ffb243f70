import ArgumentParser

/// `keyfob identity`: certificates together with their private keys.
struct IdentityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "identity", "Certificates together with their private keys.",
        examples: Examples(
            "keyfob identity import web.p12 --name web --pass-source file:/run/keys/web.pass",
            "keyfob identity ls",
            "keyfob identity check web"),
        subcommands: [
            IdentityCreateCommand.self, IdentityImportCommand.self, IdentityInstallCommand.self,
            IdentityRenewCommand.self, IdentityListCommand.self, IdentityShowCommand.self, IdentityCheckCommand.self,
            IdentityExportCommand.self, IdentityUseCommand.self, IdentityRetireCommand.self,
            IdentityRemoveCommand.self,
        ])
}
