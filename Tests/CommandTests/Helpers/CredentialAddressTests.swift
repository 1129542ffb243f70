import Keyfob
import Testing

@Suite struct CredentialAddressTests {
    @Test(arguments: [
        ("https://Example.org:443/", "https://example.org"), ("HTTPS://example.org/a", "https://example.org/a"),
        ("http://example.org:443", "http://example.org:443"), ("example.org:5000", "https://example.org:5000"),
        ("https://me:pw@example.org/a/", "https://example.org/a/"), ("http://[::1]:8080/x", "http://[::1]:8080/x"),
        ("http://[::1]", "http://[::1]"), ("sparse+https://example.org/i/", "sparse+https://example.org/i/"),
        ("cert:///home/me/key", "cert:///home/me/key"),
    ])
    func `different spellings of a place are one address`(text: String, url: String) throws {
        #expect(try CredentialAddress(url: text).url == url)
    }

    @Test(arguments: [
        "", "https://", "https:///", "1https://example.org", "ht tp://example.org", "https://example.org:0",
        "https://example.org:65536", "https://example.org:", "https://example.org:x", "https://a b", "https://a\nhost=b",
        "https://evil.example?@good.example/", "https://evil.example#@good.example/", #"https://evil.example\@good.example/"#,
        "https://example.org/a\nb", "https://example.org/<NUL>", "https://a?b", "https://a#b",
    ])
    func `text that is not an address is refused`(text: String) {
        // The log of the tests ends at a NUL.
        let text = text.replacing("<NUL>", with: "\u{0}")
        #expect(throws: KeychainError.self) { try CredentialAddress(url: text) }
    }

    @Test func `a slash with a combining mark ends the host`() throws {
        #expect(try CredentialAddress(url: "https://evil.example/\u{301}@good.example/").server == "evil.example")
    }

    @Test(arguments: [
        ("https://h", "https://h/a/b", true), ("https://h/a", "https://h/a", true), ("https://h/a", "https://h/a/b", true),
        ("https://h/a/", "https://h/a/b", true), ("https://h/a", "https://h/ab", false), ("https://h/a/b", "https://h/a", false),
        ("http://h", "https://h/a", false), ("https://h:1", "https://h/a", false), ("https://g", "https://h/a", false),
    ])
    func `a folder is above what is in it`(upper: String, lower: String, isAbove: Bool) throws {
        #expect(try CredentialAddress(url: upper).isAtOrAbove(CredentialAddress(url: lower)) == isAbove)
    }
}
