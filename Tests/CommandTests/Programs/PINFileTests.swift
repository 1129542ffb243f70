import Foundation
import TestSupport
import Testing

@testable import KeyfobCLI

/// A PIN file of another owner's token, as other programs read it.
@Suite struct PINFileTests {
    /// A home whose keychain is on another owner's token, with an identity `web`. The file `pin` contains the PIN and
    /// the text after it.
    private func household(pinFile content: String) throws -> (TestHome, [String: String]) {
        let household = try TestHome()
        let environment = try household.makeCard()
        try household.directory.write(content.utf8, to: "pin")
        let commands = [
            [
                "init", "--keychain", "card", "--token", "card", "--module", TestToken.modulePath, "--pin-source",
                "file:" + household.directory.file("pin"),
            ],
            ["identity", "create", "web", "--dns", "localhost", "--self-signed"],
        ]
        for command in commands {
            let made = try household.keyfob(command, environment: environment)
            try #require(made.status == 0, "\(command): \(made.error)")
        }
        return (household, environment)
    }

    @Test(arguments: [("1234\n", 1), ("1234\r\n", 2), ("1234\n\n", 2)])
    func `a file that ends in a newline is not named to programs that read all of it`(content: String, count: Int) throws {
        let (household, environment) = try household(pinFile: content)
        let site = household.directory.file("site")
        let commands = [
            ["uri", "web"], ["uri", "web", "--type", "private"], ["uri", "web", "--for", "openssl"],
            ["uri", "web", "--for", "openssl", "--check"], ["uri", "web", "--for", "openssl", "--write", site],
        ]
        var remedy = ""
        for command in commands {
            let refused = try household.failure(command, environment: environment)
            #expect(refused.code == "refused" && refused.status == 12, "\(command): \(refused)")
            remedy = refused.hint
        }
        #expect(!FileManager.default.fileExists(atPath: site))
        for command in [["uri", "web", "--type", "cert"], ["uri", "web", "--type", "public"], ["identity", "ls", "--json"]] {
            let told = try household.keyfob(command, environment: environment)
            #expect(told.status == 0 && !told.output.contains("pin-source"), "\(command): \(told.output)\(told.error)")
        }

        let path = household.directory.file("pin")
        let command = "truncate -s -\(count) \(path)"
        #expect(remedy.hasSuffix(": " + command), "\(remedy)")
        #expect(try Tool("/bin/sh", ["-c", command]).run().status == 0)
        #expect(try household.directory.read("pin") == Array("1234".utf8))
        let told = try household.keyfob(["uri", "web"], environment: environment)
        #expect(told.status == 0 && told.output.contains("?pin-source=file%3A"), "\(told.output)\(told.error)")
        guard OpenSSLEngine.path != nil else { return }
        let proved = try household.keyfob(["uri", "web", "--for", "openssl", "--check"], environment: environment)
        #expect(proved.status == 0, "\(proved.error)")
    }

    @Test func `text other than a newline after the PIN is not cut off`() throws {
        let (household, environment) = try household(pinFile: "1234\nthe PIN of the card\n")
        let refused = try household.failure(["uri", "web"], environment: environment)
        #expect(refused.code == "refused" && !refused.hint.contains("truncate"), "\(refused)")
    }
}
