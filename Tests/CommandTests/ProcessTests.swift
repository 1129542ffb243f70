import ArgumentParser
import Foundation
import Testing

@testable import KeyfobCLI

@Suite struct ProcessTests {
    @Test func `the version goes to standard output`() throws {
        let result = try Tool.keyfob(["--version"]).run()
        #expect(result.status == 0)
        #expect(result.output == KeyfobCommand.version + "\n")
    }

    @Test(arguments: [
        (["--version", "--json"], [:]), (["--json", "--version"], [:]), (["--version"], ["KEYFOB_FORMAT": "json"]),
    ] as [([String], [String: String])])
    func `with JSON the version is a document`(arguments: [String], environment: [String: String]) throws {
        let result = try Tool.keyfob(arguments, environment: environment).run()
        #expect(result.status == 0, "\(result.error)")
        #expect(result.output == "{\"schema\":\"keyfob/v1\",\"version\":\"\(KeyfobCommand.version)\"}\n")
        #expect(try Tool.keyfob(["--help", "--json"]).run().output.contains("USAGE"))
    }

    @Test(arguments: [
        ["no-such-verb"], ["completion"], ["completion", "bash", "more"], ["completion", "--no-such-option"], [],
        ["status", "--config", "file"], ["status", "--profile", "site"], ["help", "nope"], ["help", "secret", "nope"],
    ])
    func `wrong usage exits with 2 and leaves standard output empty`(arguments: [String]) throws {
        let result = try Tool.keyfob(arguments).run()
        #expect(result.status == 2)
        #expect(result.output.isEmpty)
        #expect(!result.error.isEmpty)
    }

    @Test(arguments: [["--json", "no-such-verb"], ["completion", "--json", "nosh"]])
    func `with --json an error is one JSON line on standard error`(arguments: [String]) throws {
        let result = try Tool.keyfob(arguments).run()
        #expect(result.status == 2)
        #expect(result.output.isEmpty)
        let object = try JSONSerialization.jsonObject(with: Data(result.error.utf8)) as? [String: Any]
        let error = try #require(object?["error"] as? [String: Any])
        #expect(object?["schema"] as? String == "keyfob/v1")
        #expect(error["exit"] as? Int == 2)
        #expect(result.error.filter { $0 == "\n" }.count == 1)
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func `there is a completion script for each shell`(shell: String) throws {
        let result = try Tool.keyfob(["completion", shell]).run()
        #expect(result.status == 0)
        #expect(result.output.contains("keyfob"))
    }

    @Test func `a completion script is in a document on request, and never because of a variable`() throws {
        let plain = try Tool.keyfob(["completion", "bash"], environment: ["KEYFOB_FORMAT": "json"]).run()
        #expect(plain.status == 0 && plain.output.hasPrefix("#!"), "\(plain.output.prefix(80))")
        let result = try Tool.keyfob(["completion", "bash", "--json"]).run()
        let document = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        #expect(document?["schema"] as? String == "keyfob/v1" && document?["shell"] as? String == "bash")
        #expect(document?["script"] as? String == plain.output)
    }

    @Test(arguments: [["help"], ["help", "secret"], ["help", "secret", "get"], ["help", "get"]])
    func `help explains the commands`(arguments: [String]) throws {
        let result = try Tool.keyfob(arguments).run()
        #expect(result.status == 0 && result.output.contains("keyfob"), "\(result.error)")
    }

    @Test func `every help starts with three examples`() {
        var commands: [any ParsableCommand.Type] = [KeyfobCommand.self]
        while let command = commands.popLast() {
            commands += command.configuration.subcommands
            let help = KeyfobCommand.helpMessage(for: command, columns: 200)
            let beforeUsage = help.prefix(upTo: help.firstRange(of: "USAGE:")?.lowerBound ?? help.startIndex)
            #expect(beforeUsage.split(separator: "\n").filter { $0.hasPrefix("  keyfob ") }.count == 3, "\(command)")
        }
    }

    @Test func `a reader that closes early ends the command by SIGPIPE, without a message`() throws {
        // The inner shell ignores SIGPIPE, as systemd does for its services. It does not begin before the reader has
        // closed its end.
        let script = """
            trap '' PIPE
            { until [ -e "$2.closed" ]; do sleep 0.01; done
            "$1" completion bash; echo "status $?" >&3; } 3>"$2" > >(exec <&-; : >"$2.closed")
            """
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("keyfob-pipe-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) } }
        let file = directory.appendingPathComponent("status").path
        let result = try Tool("/bin/bash", ["-c", script, "bash", Tool.keyfob([]).path, file]).run()
        #expect(result.error.isEmpty)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "status 141\n")
    }

    @Test func `a full disk is an error, not a success`() throws {
        let result = try Tool("/bin/sh", ["-c", "\"$1\" completion bash > /dev/full", "sh", Tool.keyfob([]).path]).run()
        #expect(result.status == 1)
        #expect(!result.error.isEmpty)
    }
}
