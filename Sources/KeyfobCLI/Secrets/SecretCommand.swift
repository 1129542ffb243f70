import ArgumentParser

/// `keyfob secret`: passwords and other secrets.
struct SecretCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "secret", "Store and read passwords and other secrets.",
        examples: Examples(
            "keyfob secret set db/prod --user app",
            "keyfob secret get db/prod",
            "keyfob secret ls db/"),
        subcommands: [
            SecretSet.self, SecretGet.self, SecretShow.self, SecretList.self, SecretRemove.self, SecretEdit.self,
            SecretGenerate.self, SecretCopy.self, SecretMove.self, SecretFind.self,
        ])
}
