import Foundation
import Glibc
import TestSupport
import Testing

/// `keyfob inject`.
@Suite struct InjectTests {
    private let household: TestHome
    private var input: String { household.directory.file("in") }
    private var output: String { household.directory.file("out") }

    init() throws {
        household = try TestHome.unattended()
        try household.set("db/prod", "canary-1", ["--user", "app"])
    }

    private func template(_ text: String) throws { try household.directory.write(Array(text.utf8), to: "in") }

    @Test func `references are replaced, in a file or through a pipe`() throws {
        let text = "user={{ keyfob://db/prod?field=user }}\npass=keyfob://db/prod\n{{ other }}\n"
        let filled = "user=app\npass=canary-1\n{{ other }}\n"
        try template(text)
        #expect(try household.keyfob(["inject"], input: Data(text.utf8)).output == filled)
        #expect(try household.keyfob(["inject", "-i", input]).output == filled)
        let written = try household.keyfob(["inject", "-i\(input)", "-o", output])
        #expect(written.status == 0, "\(written.error)")
        #expect(try String(contentsOfFile: output, encoding: .utf8) == filled)
        #expect(try String(contentsOfFile: input, encoding: .utf8) == text)
    }

    @Test func `the file is for its owner alone, also if it was not`() throws {
        try template("{{ keyfob://db/prod }}")
        try household.directory.write(Array("old".utf8), to: "out")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: output)
        let result = try Tool(
            "/bin/sh", ["-c", "umask 0; exec \"$@\"", "sh", Tool.commandPath, "inject", "-i", input, "-o", output],
            environment: household.environment
        ).run()
        #expect(result.status == 0, "\(result.error)")
        var status = stat()
        #expect(unsafe stat(output, &status) == 0)
        #expect(status.st_mode & 0o7777 == 0o600)
    }

    @Test(arguments: [
        ("a\nb: {{ keyfob://nothing }}", 3, "line 2, column 7"), ("x keyfob://db/prod?field=url", 3, "line 1, column 3"),
        ("{{ keyfob://db/prod", 2, "line 1, column 4"), ("é {{ keyfob://db/prod?field=x }}", 2, "line 1, column 6"),
        ("{{ keyfob://db/prod?keychain=nothing }}", 3, "line 1, column 4"),
    ])
    func `an error names line and column, and nothing changes`(text: String, status: Int, place: String) throws {
        try template("{{ keyfob://db/prod }}")
        try #require(household.keyfob(["inject", "-i", input, "-o", output]).status == 0)
        try template(text)
        let before = try FileManager.default.contentsOfDirectory(atPath: household.directory.path).sorted()
        let result = try household.keyfob(["inject", "-i", input, "-o", output])
        #expect(result.status == Int32(status))
        #expect(result.error.hasPrefix("keyfob: in, \(place): "), "\(result.error)")
        #expect(!result.error.contains("canary"))
        #expect(result.output.isEmpty)
        #expect(try String(contentsOfFile: output, encoding: .utf8) == "canary-1")
        #expect(try FileManager.default.contentsOfDirectory(atPath: household.directory.path).sorted() == before)
    }

    @Test func `the template is never replaced by the result`() throws {
        try template("{{ keyfob://db/prod }}")
        try FileManager.default.createSymbolicLink(atPath: output, withDestinationPath: input)
        for path in [input, output] {
            #expect(try household.keyfob(["inject", "-i", input, "-o", path]).status == 2)
        }
        #expect(try String(contentsOfFile: input, encoding: .utf8) == "{{ keyfob://db/prod }}")
    }

    @Test func `a dry run writes nothing, and reports unknown references`() throws {
        try template("{{ keyfob://db/prod }}")
        let result = try household.keyfob(["inject", "-i", input, "-o", output, "--dry-run"])
        #expect(result.status == 0, "\(result.error)")
        #expect(!FileManager.default.fileExists(atPath: output))
        try template("{{ keyfob://nothing }}")
        #expect(try household.keyfob(["inject", "-i", input, "-o", output, "--dry-run"]).status == 3)
    }

    @Test func `a dry run prints no secret`() throws {
        try template("{{ keyfob://db/prod }}")
        for options in [["--json"], []] {
            let result = try household.keyfob(["inject", "-i", input, "--dry-run"] + options)
            #expect(result.status == 0 && !result.output.contains("canary"), "\(result.output)")
        }
    }

    @Test func `another mode of the file is a change`() throws {
        try template("{{ keyfob://db/prod }}")
        let words = ["inject", "-i", input, "-o", output]
        try #require(household.keyfob(words).status == 0)
        #expect(try household.document(words)["action"] as? String == "none")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: output)
        for options in [["--dry-run"], []] {
            #expect(try household.document(words + options)["action"] as? String == "update", "\(options)")
        }
        #expect(try household.document(words)["action"] as? String == "none")
    }

    @Test func `a document has the number of references, and the text if no file gets it`() throws {
        try template("{{ keyfob://db/prod }} {{ keyfob://db/prod }}")
        let printed = try household.document(["inject", "-i", input])
        #expect(printed["value"] as? String == "canary-1 canary-1")
        #expect(printed["references"] as? Int == 2)
        let written = try household.document(["inject", "-i", input, "-o", output])
        #expect(written["value"] is NSNull)
        #expect(written["changed"] as? Bool == true)
    }

    @Test func `a process that is killed while it writes leaves the old file or the new one`() throws {
        let old = String(repeating: "old ", count: 50_000)
        try household.directory.write(Array(old.utf8), to: "out")
        try template(String(repeating: "x", count: 4 << 20) + "{{ keyfob://db/prod }}")
        for delay in 0..<12 {
            let script = "\"$@\" & sleep 0.0\(delay + 10); kill -9 $! 2>/dev/null; wait"
            _ = try Tool(
                "/bin/bash", ["-c", script, "bash", Tool.commandPath, "inject", "-i", input, "-o", output],
                environment: household.environment
            ).run()
            let content = try String(contentsOfFile: output, encoding: .utf8)
            #expect(content == old || content.count == (4 << 20) + "canary-1".count)
        }
    }
}
