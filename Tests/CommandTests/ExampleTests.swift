import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import KeyfobCLI

/// The examples at the beginning of each help, pasted into a shell.
@Suite struct ExampleTests {
    /// The words that lead to each command.
    private static let paths: [[String]] = {
        func below(_ command: any ParsableCommand.Type, _ path: [String]) -> [[String]] {
            [path]
                + command.configuration.subcommands.flatMap {
                    below($0, path + [$0.configuration.commandName ?? ""])
                }
        }
        return below(KeyfobCommand.self, [])
    }()

    /// The lines between `Examples:` and the next empty one.
    private func examples(_ path: [String]) throws -> [Substring] {
        let help = try Tool.keyfob(path + ["--help"], environment: ["COLUMNS": "80"]).run()
        #expect(help.status == 0)
        let lines = help.output.split(separator: "\n", omittingEmptySubsequences: false)
        return Array(lines.drop { $0 != "Examples:" }.dropFirst().prefix { !$0.isEmpty })
    }

    @Test(arguments: paths)
    func `an example is one command of the shell, with an existing verb`(path: [String]) throws {
        let lines = try examples(path)
        #expect(lines.count { $0.hasPrefix("  keyfob ") } == 3, "\(lines)")
        #expect(lines.allSatisfy { $0.hasPrefix("  ") && $0.count <= 80 }, "\(lines)")
        let directory = try TemporaryDirectory()
        for name in ["token.txt", "chain.pem", "api.crt", "web.csr", "secrets.jsonl"] { try directory.write([], to: name) }
        for name in [".ssh", ".config/fish/completions", ".local/share/bash-completion/completions", "zsh"] {
            try FileManager.default.createDirectory(atPath: directory.file(name), withIntermediateDirectories: true)
        }
        // The words that keyfob would receive. Every program in them exists.
        let script = """
            keyfob() { printf '%s\\0' "$@" >&3; printf '\\n\\0' >&3; }
            systemctl() { :; }; grep() { cat; }
            fpath=("$HOME/zsh" "$HOME/zsh"); cd; set -e
            \(lines.joined(separator: "\n"))
            """
        let bash = Tool("/bin/bash", ["-c", "{ \(script)\n} 3>&1 >/dev/null"], environment: ["HOME": directory.path])
        let result = try bash.run()
        #expect(result.status == 0 && result.error.isEmpty, "\(result.error)")
        let commands = result.output.split(separator: "\n\0").map { $0.split(separator: "\0").map(String.init) }
        #expect(commands.count == 3, "\(commands)")
        for command in commands {
            #expect(throws: Never.self, "\(command)") {
                _ = try Invocation(command, root: KeyfobCommand.self).parse(root: KeyfobCommand.self)
            }
        }
    }
}
