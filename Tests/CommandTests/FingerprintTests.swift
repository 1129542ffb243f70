import Foundation
import KeyfobPrimitives
import TestSupport
import Testing

@testable import KeyfobCLI

/// The forms of a fingerprint that select certificates, keys and identities.
@Suite struct FingerprintTests {
    private static let sha256 = String(repeating: "0123456789abcdef", count: 4)
    private static let sha1 = String(repeating: "0123456789", count: 4)

    private static func withColons(_ digits: String) -> String {
        digits.enumerated().map { $0.offset > 0 && $0.offset.isMultiple(of: 2) ? ":\($0.element)" : "\($0.element)" }
            .joined().uppercased()
    }

    @Test(arguments: ["", "sha256:", "SHA256:", "sha256 Fingerprint=", "SHA256 Fingerprint="])
    func `a whole fingerprint is accepted with and without its algorithm and colons, in either case`(mark: String) {
        let wanted = ItemName.Fingerprint(algorithm: "sha256", hexadecimal: Self.sha256)
        for digits in [Self.sha256, Self.sha256.uppercased(), Self.withColons(Self.sha256)] {
            #expect(ItemName.Fingerprint(mark + digits, shortest: 4) == wanted, "\(mark)\(digits)")
        }
        let other = ItemName.Fingerprint(algorithm: "sha1", hexadecimal: Self.sha1)
        for digits in [Self.sha1, Self.withColons(Self.sha1)] {
            let text = mark.replacing("256", with: "1") + digits
            #expect(ItemName.Fingerprint(text, shortest: 4) == other, "\(text)")
        }
    }

    @Test(arguments: [
        "", "sha256", "sha256:", "sha256:abc", "sha256:77bg", "sha256 Fingerprint=", "md5:77be", "77be",
        String(repeating: "0", count: 63), String(repeating: "0", count: 41), String(repeating: "g", count: 64),
        "sha256:sha256:0123",
    ])
    func `text that is not a fingerprint, or too short, is not taken as one`(text: String) {
        #expect(ItemName.Fingerprint(text, shortest: 4) == nil)
    }

    @Test func `the fingerprints that keyfob and openssl print find certificate, identity and key`() throws {
        let home = try IdentityHome()
        try #require(home.keyfob("identity", "create", "web", "--cn", "web", "--self-signed").status == 0)
        let text = try home.keyfob("cert", "show", "web").output
        try home.directory.write(try home.keyfob("cert", "export", "web").output.utf8, to: "web.pem")
        var names: [String] = []
        for algorithm in ["sha256", "sha1"] {
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(algorithm + " ") })
            names.append(String(try #require(line.split(separator: " ").last)))
            let printed = try home.shell("openssl x509 -in web.pem -noout -fingerprint -\(algorithm)").trimmingBlanks
            names.append(printed)
            names.append(String(try #require(printed.split(separator: "=").last)))
        }
        for name in names {
            for noun in ["cert", "identity"] {
                let shown = try home.keyfob(noun, "show", name)
                #expect(shown.output.hasPrefix("name ") && shown.output.contains(" web\n"), "\(name): \(shown.error)")
            }
            #expect(try home.keyfob("uri", name).output == home.keyfob("uri", "web").output, "\(name)")
        }
        let key = try IdentityHome.json(home.keyfob("key", "show", "web", "--json"))
        let mark = try #require(key["fingerprint"] as? String)
        let id = try #require(key["id"] as? String)
        for name in [String(mark.dropFirst(7)), id] {
            #expect(try home.keyfob("key", "show", name).output.hasPrefix("name         web\n"), "\(name)")
            let listed = try home.keyfob("key", "ls", "--pub", name)
            #expect(listed.output.split(separator: "\n").count == 2, "\(name): \(listed.error)")
        }
    }

    @Test func `an item whose name is another item's fingerprint is preferred`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("a")
        try home.makeSelfSigned("b")
        try #require(home.keyfob("cert", "import", home.file("a.pem"), "--name", "a").status == 0)
        let shown = try IdentityHome.json(home.keyfob("cert", "show", "a", "--json"))
        let name = String(try #require(shown["fingerprint"] as? String).dropFirst(7))
        #expect(try home.keyfob("cert", "show", name).output.hasPrefix("name        a\n"))
        try #require(home.keyfob("cert", "import", home.file("b.pem"), "--name", name).status == 0)
        #expect(try home.keyfob("cert", "show", name).output.hasPrefix("name        \(name)\n"))
        #expect(try home.keyfob("cert", "show", "sha256:" + name).output.hasPrefix("name        a\n"))
    }
}
