import Foundation
import TestSupport
import Testing

@testable import KeyfobCLI

/// Services for which an identity can be preferred.
@Suite struct ServiceNameTests {
    @Test(arguments: [
        "https://example.org", "https://example.org/api?x#y", "https://", "https://example.org:8443/", "x-my+app://a/",
        "https://[2001:db8::1]/", "file:///srv", "mail.example.org", "localhost", "*.example.org", "192.0.2.1",
        "p@example.org", "mailto:p@example.org", "b\u{FC}cher.example", "imap.example.org:993", "2001:db8::1",
        "Guest network",
    ])
    func `a name that a program may ask for is a service`(text: String) throws {
        #expect(try ServiceName(text).text == text)
    }

    @Test(arguments: [
        ("", "empty"), (" ", "empty"), ("https://x.example/\u{1B}[31m", "control character"),
        ("x\ny", "control character"), ("x\u{202E}y", "control character"),
    ])
    func `a name that no program can ask for is refused, with a remedy`(text: String, part: String) throws {
        let error = #expect(throws: UsageError.self) { try ServiceName(text) }
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
        #expect(error?.hint != nil)
    }

    @Test func `an invalid service is a usage error, and no preference is set for it`() throws {
        let home = try IdentityHome()
        try #require(home.keyfob("identity", "create", "web", "--cn", "web", "--self-signed").status == 0)
        for text in ["", "x\ty"] {
            for options in [[], ["--dry-run"]] {
                let words = ["identity", "use", "web", "--service", text] + options
                let refused = try Tool.keyfob(words, environment: home.environment).run()
                #expect(refused.status == 2 && refused.output.isEmpty, "\(refused)")
            }
        }
        let wildcard = try home.keyfob("identity", "use", "web", "--service", "*.example.org")
        #expect(wildcard.output == "\"web\" is preferred for *.example.org.\n", "\(wildcard)")
    }
}
