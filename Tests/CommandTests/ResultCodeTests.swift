import Foundation
import Testing

@testable import KeyfobCLI

/// `keyfob error` and `security error`.
@Suite struct ResultCodeTests {
    /// The command under the name `security`, by a link in a separate directory.
    private static func security(_ arguments: [String]) throws -> Tool.Result {
        let directory = FileManager.default.temporaryDirectory.appending(path: "keyfob-security-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let link = directory.appending(path: "security")
        try FileManager.default.createSymbolicLink(
            at: link, withDestinationURL: URL(filePath: Tool.keyfob([]).path))
        return try Tool(link.path, arguments).run()
    }

    @Test func `security error explains -50 in the words of macOS and with its status`() throws {
        let result = try Self.security(["error", "-50"])
        #expect(
            result.output == "Error: 0xFFFFFFCE -50 One or more parameters passed to a function were not valid\n")
        #expect(result.error.isEmpty)
        #expect(result.status == 1)
    }

    @Test func `security error prints a line for each code`() throws {
        let result = try Self.security(["error", "-25300", "0xFFFF9D2D", "-12345", "0"])
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 4)
        #expect(lines[0].hasPrefix("Error: 0xFFFF9D2C -25300 "))
        #expect(lines[0].contains("could not be found"))
        #expect(lines[1].hasPrefix("Error: 0xFFFF9D2D -25299 "))
        #expect(lines[2] == "Error: 0xFFFFCFC7 -12345 unknown error -12345=ffffcfc7")
        #expect(lines[3].hasPrefix("Error: 0x00000000 0 "))
    }

    @Test(arguments: [
        ("-50x", "Error: 0xFFFFFFCE -50 "), ("errSecParam", "Error: 0x00000000 0 "), ("", "Error: 0x00000000 0 "),
        ("99999999999999999999", "Error: 0x00000000 0 "), ("-", "Error: 0x00000000 0 "), ("0x", "Error: 0x00000000 0 "),
    ]) func `Text that begins with a number counts as that number`(text: String, beginning: String) {
        #expect(SecurityTool.line(text).hasPrefix(beginning))
    }

    @Test(arguments: [["--", "-50"], ["-50", "--"], ["--json", "--", "-50"]])
    func `a code may follow the end of options`(arguments: [String]) throws {
        let result = try Tool.keyfob(["error"] + arguments).run()
        #expect(result.status == 0 && result.output.contains("errSecParam"), "\(result.error)")
    }

    @Test func `security reports missing verbs, and fails with 1`() throws {
        let result = try Self.security(["find-generic-password", "-s", "x", "-w"])
        #expect(result.output.isEmpty)
        #expect(result.error.hasPrefix("security: unknown command \"find-generic-password\"\n"))
        #expect(result.status == 1)
    }

    @Test(arguments: [[], ["error"]])
    func `security without a verb or a code prints its usage`(arguments: [String]) throws {
        let result = try Self.security(arguments)
        #expect(result.status == 2)
        #expect(result.output.isEmpty)
        #expect(result.error.hasPrefix("Usage: security"))
    }

    @Test(arguments: [["error", "-50"], ["error", "errSecParam"], ["error", "0xFFFFFFCE"], ["--quiet", "error", "-50"]])
    func `keyfob error names a code and explains it`(arguments: [String]) throws {
        let result = try Tool.keyfob(arguments).run()
        #expect(result.status == 0)
        #expect(result.output.contains("-50"))
        #expect(result.output.contains("errSecParam"))
        #expect(result.output.contains("not valid"))
    }

    @Test func `keyfob error prints JSON with every code`() throws {
        let result = try Tool.keyfob(["error", "-25300", "--json", "-50"]).run()
        let object = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        let errors = try #require(object?["errors"] as? [[String: Any]])
        #expect(errors.map { $0["name"] as? String } == ["errSecItemNotFound", "errSecParam"])
        #expect(errors.map { $0["result_code"] as? Int } == [-25300, -50])
        #expect(errors.first?["hexadecimal"] as? String == "0xFFFF9D2C")
    }

    @Test(arguments: [("-12345", Int32(3)), ("never", 2), ("--bogus", 2), ("-25300x", 2)])
    func `keyfob error fails for an unknown code`(code: String, status: Int32) throws {
        let result = try Tool.keyfob(["error", code]).run()
        #expect(result.status == status)
        #expect(result.output.isEmpty)
    }
}
