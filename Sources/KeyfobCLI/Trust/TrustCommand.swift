import ArgumentParser

/// `keyfob trust`: trusted certificates.
struct TrustCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "trust", "Trusted certificates, in addition to the system's authorities.",
        examples: Examples(
            "keyfob trust add corp-ca.pem --for server", "keyfob trust ls", "keyfob trust rm corp-ca"),
        discussion: "Trust is sealed in the keychain: a program that can only write to the token cannot add any.",
        subcommands: [
            TrustAddCommand.self, TrustListCommand.self, TrustRemoveCommand.self, TrustExportCommand.self,
        ])
}
