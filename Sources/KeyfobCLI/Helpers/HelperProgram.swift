import ArgumentParser

/// The helpers, and the names under which other programs call them.
enum HelperProgram: String, CaseIterable, ExpressibleByArgument {
    case git, docker, cargo, keyring, kubectl, aws

    /// The name of the program; `nil` if the configuration of the other program contains a whole command line.
    var name: String? {
        switch self {
        case .git: "git-credential-keyfob"
        case .docker: "docker-credential-keyfob"
        case .cargo: "cargo-credential-keyfob"
        case .keyring: "keyring"
        case .kubectl, .aws: nil
        }
    }

    /// The helper that a program name stands for.
    init?(name: String) {
        guard let found = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = found
    }

    /// The words of the command.
    var words: [String] { ["helper", rawValue] }
}
