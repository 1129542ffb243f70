import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// The entry in the configuration of another program that makes it call a helper.
struct HelperConfiguration {
    /// How long git may take.
    private static let patience: Duration = .seconds(10)

    let program: HelperProgram
    /// The registries for which docker calls the helper; empty for all.
    var registries: [String] = []

    /// The entry for a person to add, as a command or as the lines of a file.
    var text: String {
        switch program {
        case .git: "git config --global --add credential.helper keyfob"
        case .docker: "~/.docker/config.json: " + DockerConfiguration.entry(for: registries)
        case .cargo:
            "~/.cargo/config.toml: [registry] global-credential-providers = "
                + "[\"cargo:token\", \"cargo-credential-keyfob\"]"
        case .keyring: "pip config set global.keyring-provider subprocess; and a user in the index's URL"
        case .kubectl:
            "kubectl config set-credentials USER --exec-api-version=client.authentication.k8s.io/v1 "
                + "--exec-command=keyfob --exec-arg=helper --exec-arg=kubectl --exec-arg=NAME"
        case .aws: "~/.aws/config: credential_process = keyfob helper aws NAME"
        }
    }

    /// Whether the program calls the helper; `nil` if this is not known.
    ///
    /// - Throws: `KeychainError` if the configuration cannot be read.
    func isPresent() throws -> Bool? {
        switch program {
        case .git:
            guard ProgramLookup.failure(of: "git") == 0 else { return nil }
            let result = try Self.git("--get-all", "credential.helper")
            // 1: the configuration has no such line.
            if result.status != 1 { try Self.require(result) }
            let lines = String(decoding: result.output, as: UTF8.self).split(separator: "\n")
            return lines.contains { $0 == "keyfob" || $0.hasPrefix("keyfob ") }
        case .docker: return try DockerConfiguration().callsHelper(for: registries)
        default: return nil
        }
    }

    /// The other helper that the entry replaces; `nil` for an entry beside others.
    ///
    /// - Throws: `KeychainError` if the configuration cannot be read.
    func replacedHelper() throws -> String? {
        program == .docker && registries.isEmpty ? try DockerConfiguration().otherHelper : nil
    }

    /// Adds the entry.
    ///
    /// - Throws: `KeychainError` if the configuration cannot be changed.
    func add() throws {
        switch program {
        case .git: try Self.require(Self.git("--add", "credential.helper", "keyfob"))
        case .docker: try DockerConfiguration().addHelper(for: registries)
        default: break
        }
    }

    /// Removes the entry.
    ///
    /// - Throws: `KeychainError` if the configuration cannot be changed.
    func remove() throws {
        switch program {
        case .git: try Self.require(Self.git("--unset-all", "credential.helper", "^keyfob( |$)"))
        case .docker: try DockerConfiguration().removeHelper(for: registries)
        default: break
        }
    }

    private static func git(_ arguments: String...) throws -> ProgramRun.Result {
        // In a directory with a damaged repository git would read no configuration.
        try ProgramRun.run(
            ["git", "-C", "/", "config", "--global"] + arguments, isUsers: true, deadline: .after(patience))
    }

    private static func require(_ result: ProgramRun.Result) throws {
        guard result.status == 0 else {
            throw KeychainError(
                .failed, "git config --global failed with status \(result.status).",
                hint: "Its message is above. Check the file: git config --global --list --show-origin")
        }
    }
}
