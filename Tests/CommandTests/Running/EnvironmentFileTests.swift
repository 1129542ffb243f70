import Keyfob
import Testing

@testable import KeyfobCLI

/// The syntax of files of variables.
@Suite struct EnvironmentFileTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let text: String
        let variables: [String]
        var testDescription: String { text }

        init(_ text: String, _ variables: String...) {
            self.text = text
            self.variables = variables
        }
    }

    static let rows = [
        Row(""), Row("\n\n  # only a comment\n#another"),
        Row("A=1", "A=1"), Row("A=1\nB=2\n", "A=1", "B=2"), Row("A=1\r\nB=2\r\n", "A=1", "B=2"),
        Row("\u{FEFF}A=1", "A=1"), Row("  A  =  1  ", "A=1"),
        Row("export A=1", "A=1"), Row("export\tA=1", "A=1"), Row("exported=1", "exported=1"),
        Row("A=", "A="), Row("A=\nB=''\nC=\"\"", "A=", "B=", "C="),
        Row("A=one two # three", "A=one two"), Row("A=a#b", "A=a#b"), Row("A=#b", "A=#b"), Row("A= #b", "A="),
        Row("A=$HOME ${B}", "A=$HOME ${B}"), Row("A=a\\nb", "A=a\\nb"), Row("A={\"b\":\"c d\"}", "A={\"b\":\"c d\"}"),
        Row("A='a # b' # c", "A=a # b"), Row("A='a\\n$b\"'", "A=a\\n$b\""),
        Row("A=\"a # b\"\t# c", "A=a # b"), Row(#"A="\n\r\t\\\"\$\`\x'""#, "A=\n\r\t\\\"$`\\x'"),
        Row("A='one\ntwo'\nB=\"three\nfour\"\nC=5", "A=one\ntwo", "B=three\nfour", "C=5"),
        Row("A=a=b", "A=a=b"), Row("a.b-c=1", "a.b-c=1"), Row("Ä=ö", "Ä=ö"),
    ]

    @Test(arguments: rows) func `a file has the variables that it names`(_ row: Row) throws {
        let file = try EnvironmentFile(Array(row.text.utf8), file: "app.env")
        let found = file.variables.map { "\($0.name)=\($0.value.copyString() ?? "binary")" }
        #expect(found == row.variables)
    }

    @Test(arguments: [
        ("A", 1, 1), ("A=1\nexport B\n", 2, 1), ("=1", 1, 1), ("A B=1", 1, 1), ("'A'=1", 1, 1),
        ("A='canary", 1, 3), ("A=1\nÖ = \"canary\n\n", 2, 5), ("A='canary'x", 1, 11), ("A=\"canary\" \"b\"", 1, 12),
        ("A='canary'#c", 1, 11),
    ])
    func `a malformed file is refused with line and column, without its values`(
        text: String, line: Int, column: Int
    ) throws {
        let error = #expect(throws: KeychainError.self) { try EnvironmentFile(Array(text.utf8), file: "app.env") }
        #expect(error?.code == .unsupportedFormat)
        #expect(error?.message.hasPrefix("app.env, line \(line), column \(column): ") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("canary") == false)
    }
}
