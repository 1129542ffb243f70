import ArgumentParser

/// `keyfob helper`: gives secrets to programs that ask a helper for them.
struct HelperCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "helper", "Give secrets to git, docker, cargo, pip, kubectl and the AWS tools.",
        examples: Examples(
            "keyfob helper install git --configure",
            "keyfob helper install docker keyring",
            "keyfob helper ls"),
        discussion: "No helper asks questions. A locked keychain is an error, so unlock it first: keyfob unlock",
        subcommands: [
            HelperInstall.self, HelperRemove.self, HelperList.self, GitHelper.self, DockerHelper.self,
            CargoHelper.self, KeyringHelper.self, KubectlHelper.self, AWSHelper.self,
        ])
}
