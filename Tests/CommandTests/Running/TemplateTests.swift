import Keyfob
import KeyfobPrimitives
import Testing

@testable import KeyfobCLI

/// References in a template.
@Suite struct TemplateTests {
    /// The text with each reference in angle brackets.
    private func filled(_ text: String) throws -> String? {
        try Template(Array(text.utf8), file: "t").filled { SecretBytes(utf8: "<\($0)>") }.copyString()
    }

    @Test(arguments: [
        ("", ""), ("plain", "plain"), ("{{keyfob://a}}", "<keyfob://a>"), ("{{ \tkeyfob://a/b  }}!", "<keyfob://a/b>!"),
        ("{{ keyfob://my item, }}", "<keyfob://my item,>"), ("{{ keyfob://a }}{{ keyfob://b }}", "<keyfob://a><keyfob://b>"),
        ("{{{ keyfob://a }}}", "{<keyfob://a>}"), ("{{ other }} { {", "{{ other }} { {"),
        ("p=keyfob://a/b?field=user,", "p=<keyfob://a/b?field=user>,"), ("\"keyfob://a\"", "\"<keyfob://a>\""),
        ("keyfob://a\nkeyfob://b", "<keyfob://a>\n<keyfob://b>"), ("(KEYFOB://a)", "(<keyfob://a>)"),
        ("xkeyfob://a 9keyfob://b", "xkeyfob://a 9keyfob://b"), ("keyfob: k keyfob:/", "keyfob: k keyfob:/"),
        ("öß {{keyfob://ä}} ü", "öß <keyfob://ä> ü"),
    ])
    func `references are replaced and all else stays`(text: String, expected: String) throws {
        #expect(try filled(text) == expected)
    }

    @Test func `bytes that are not text stay`() throws {
        let template = try Template([0xFF, 0x00] + Array("{{keyfob://a}}".utf8) + [0xC3], file: "t")
        #expect(try template.filled { _ in SecretBytes([0xFE]) }.copyBytes() == [0xFF, 0x00, 0xFE, 0xC3])
    }

    @Test(arguments: [
        ("a\nöö {{ keyfob://x", 2, 7), ("{{ keyfob://x\n}}", 1, 4), ("{{ keyfob:// }}", 1, 4), ("keyfob://", 1, 1),
        ("a keyfob://x?field=pin", 1, 3), ("\n\n keyfob://x?kind=generic&port=1", 3, 2),
    ])
    func `a malformed reference is refused with line and column`(text: String, line: Int, column: Int) throws {
        let error = #expect(throws: (any Error).self) { try filled(text) }
        #expect(Failure(try #require(error)).message.hasPrefix("t, line \(line), column \(column): "))
    }
}
