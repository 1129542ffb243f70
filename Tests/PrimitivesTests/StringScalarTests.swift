import KeyfobPrimitives
import Testing

@Suite struct StringScalarTests {
    @Test func `texts that look alike are not identical`() {
        #expect("\u{E9}" == "e\u{301}" && !"\u{E9}".isIdentical(to: "e\u{301}"))
        #expect("web".isIdentical(to: "web@1".dropLast(2)) && !"web".isIdentical(to: "we"))
    }

    @Test(arguments: [
        ("", ""), ("plain", "plain"), ("a\"b\\c", "a\\\"b\\\\c"), ("\"\u{301}", "\\\"\u{301}"),
        ("\u{200D}\"", "\u{200D}\\\""),
        ("\u{600}\"x", "\u{600}\\\"x"), ("\r\n\\\u{FE0F}", "\r\n\\\\\u{FE0F}"),
    ])
    func `a character is escaped even if another character combines with it`(text: String, escaped: String) {
        #expect(text.escaping("\\\"").unicodeScalars.elementsEqual(escaped.unicodeScalars))
        #expect(text.contains(scalarOf: "\\\"") == (text.unicodeScalars.count != escaped.unicodeScalars.count))
    }

    @Test func `the escape mark can be another character than a backslash`() {
        #expect("50%\u{301}".escaping("%", with: "%").unicodeScalars.elementsEqual("50%%\u{301}".unicodeScalars))
    }
}
