import ArgumentParser

/// `keyfob helper`: gives secrets to programs that ask a helper for them.
struct HelperCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "helper", "Give secrets to programs that ask a helper for them.",
        examples: Examples(
            "keyfob helper git get <<< $'protocol=https\\nhost=github.com'",
            "keyfob helper git erase <<< $'protocol=https\\nhost=github.com'",
            "keyfob helper git --help"),
        discussion: "No helper asks questions. A locked keychain is an error, so unlock it first: keyfob unlock",
        subcommands: [
            GitHelper.self, DockerHelper.self, CargoHelper.self, KeyringHelper.self, KubectlHelper.self, AWSHelper.self,
        ])
}
