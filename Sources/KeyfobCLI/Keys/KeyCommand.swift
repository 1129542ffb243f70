import ArgumentParser

/// `keyfob key`: keys on the token.
struct KeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "key", "Keys on the token.",
        examples: Examples("keyfob key generate api --type ec --curve p256", "keyfob key ls", "keyfob key pub api"),
        subcommands: [
            KeyGenerateCommand.self, KeyRequestCommand.self, KeyListCommand.self, KeyShowCommand.self,
            KeyPublicCommand.self, KeyRemoveCommand.self,
        ])
}
