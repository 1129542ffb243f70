import Foundation
import TestSupport
import Testing

/// `keyfob otp`.
@Suite struct OTPTests {
    /// The seed of RFC 6238 for SHA-1.
    private static let seed = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    private static let uri = "otpauth://totp/ACME:alice?secret=\(seed)&issuer=ACME"

    private let household: TestHome

    init() throws { household = try .unattended() }

    private func set(_ name: String, _ text: String = uri, _ options: [String] = []) throws {
        let result = try household.keyfob(["otp", "set", name, "--stdin"] + options, input: Data(text.utf8))
        try #require(result.status == 0, "\(result.error)")
    }

    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/oathtool"), "oathtool is not installed"),
        arguments: [
            ("SHA1", 6, 30), ("SHA1", 8, 30), ("SHA256", 6, 30), ("SHA256", 7, 60), ("SHA512", 8, 15),
        ])
    func `the code is that of oathtool`(algorithm: String, digits: Int, period: Int) throws {
        try set(
            "x", "otpauth://totp/x?secret=\(Self.seed)&algorithm=\(algorithm)&digits=\(digits)&period=\(period)")
        let options = ["--totp=\(algorithm)", "--digits=\(digits)", "--time-step-size=\(period)s", "--base32", Self.seed]
        // A period may end between the two calls.
        for _ in 0..<5 {
            let before = try Tool("/usr/bin/oathtool", options).run().output
            let code = try household.keyfob(["otp", "get", "x"]).output
            guard try Tool("/usr/bin/oathtool", options).run().output == before else { continue }
            #expect(code == before)
            return
        }
        Issue.record("every period ended during the calls")
    }

    @Test func `a document says until when the code is valid`() throws {
        try set("x", "otpauth://totp/x?secret=\(Self.seed)&period=60&digits=8")
        let start = Date()
        let document = try household.document(["otp", "get", "x"])
        #expect((document["code"] as? String)?.count == 8)
        #expect(document["period"] as? Int == 60)
        let text = try #require(document["valid_until"] as? String)
        let end = try #require(ISO8601DateFormatter().date(from: text))
        #expect(end > start && end <= Date() + 60)
        #expect(Int(end.timeIntervalSince1970) % 60 == 0)
    }

    @Test func `a name may begin with a combining mark`() throws {
        let name = "\u{301}abc"
        try set(name)
        #expect(try household.keyfob(["otp", "get", name]).output.count == 7)
        let refused = try household.keyfob(["get", "otp:" + name])
        #expect(refused.status == 12 && refused.output.isEmpty, "\(refused)")
        #expect(try household.keyfob(["set", "otp:" + name, "--stdin"], input: Data("x".utf8)).status == 2)
    }

    @Test func `a password and a one-time password of one name are different items`() throws {
        try household.set("github.com", "password")
        try set("github.com")
        #expect(try household.keyfob(["get", "github.com"]).output == "password\n")
        #expect(try household.keyfob(["otp", "get", "github.com"]).output.count == 7)
        #expect(try household.keyfob(["rm", "github.com", "-y"]).status == 0)
        #expect(try household.keyfob(["otp", "get", "github.com"]).status == 0)
        // Replacing the password does not touch the seed.
        try household.set("github.com", "new", ["--replace"])
        #expect(try household.keyfob(["otp", "rm", "github.com", "-y"]).status == 0)
        #expect(try household.keyfob(["get", "github.com"]).output == "new\n")
    }

    @Test func `commands for passwords explain that an item is a one-time password`() throws {
        try set("vpn")
        let missing = try household.failure(["get", "vpn"])
        #expect(missing.code == "item.not_found")
        #expect(missing.hint.contains("keyfob otp get vpn"), "\(missing.hint)")
        #expect(try household.keyfob(["ls"]).output.contains("otp:vpn"))
        for command in [["get"], ["get", "--json"], ["secret", "show", "--reveal"], ["edit"]] {
            let result = try household.keyfob(command + ["otp:vpn"])
            #expect(result.status == 12, "\(command)")
            #expect(result.error.contains("keyfob otp get vpn"), "\(result.error)")
            #expect(!(result.output + result.error).contains(Self.seed))
        }
        for command in [["set", "otp:other", "--stdin"], ["generate", "otp:other"], ["set", "otp:vpn", "--replace", "--stdin"]] {
            let result = try household.keyfob(command, input: Data("x".utf8))
            #expect(result.status == 2, "\(command)")
            #expect(result.error.contains("otp set"), "\(result.error)")
        }
        #expect(try household.keyfob(["otp", "get", "vpn"]).status == 0)
    }

    @Test func `lists, attributes and the seed are shown, the seed only on request`() throws {
        try set("a", Self.uri, ["--user", "alice", "--comment", "phone lost"])
        try set("b", Self.seed)
        try household.set("password", "x")
        #expect(try household.keyfob(["otp", "ls"]).output.split(separator: "\n").count == 3)
        let items = try #require(try household.document(["otp", "ls", "a"])["items"] as? [[String: Any]])
        #expect(items.map { $0["name"] as? String } == ["a"])
        #expect(items.map { $0["user"] as? String } == ["alice"])
        let shown = try household.document(["otp", "show", "a"])
        #expect(shown["issuer"] as? String == "ACME")
        #expect(shown["account"] as? String == "alice")
        #expect(shown["comment"] as? String == "phone lost")
        #expect(shown["digits"] as? Int == 6)
        #expect(shown["uri"] == nil)
        #expect(try household.keyfob(["otp", "show", "a"]).output.contains(Self.seed) == false)
        let uri = try household.keyfob(["otp", "show", "a", "--reveal"]).output
        #expect(uri == Self.uri + "&algorithm=SHA1&digits=6&period=30\n")
        #expect(try household.document(["otp", "show", "b", "--reveal"])["issuer"] is NSNull)
    }

    @Test func `an existing one is kept or replaced as asked`() throws {
        try set("x")
        let other = Data("MZXW6YTB".utf8)
        #expect(try household.failure(["otp", "set", "x", "--stdin"], input: other).code == "item.exists")
        let kept = try household.document(["otp", "set", "x", "--stdin", "--if-missing"], input: other)
        #expect(kept["changed"] as? Bool == false)
        #expect(kept["name"] as? String == "x")
        let same = try household.document(["otp", "set", "x", "--stdin", "--replace"], input: Data((Self.uri + "\n").utf8))
        #expect(same["changed"] as? Bool == false)
        let replaced = try household.document(["otp", "set", "x", "--stdin", "--replace"], input: other)
        #expect(replaced["changed"] as? Bool == true)
        #expect(try household.keyfob(["otp", "show", "x", "--reveal"]).output.contains("MZXW6YTB"))
    }

    @Test func `a malformed setup stores nothing and is never shown`() throws {
        for text in ["otpauth://totp/x?secret=CANARY1", "otpauth://hotp/x?secret=CANARYAA&counter=0", "CANARY!"] {
            let result = try household.keyfob(["otp", "set", "x", "--stdin"], input: Data(text.utf8))
            #expect(result.status == 9)
            #expect(!(result.output + result.error).contains("CANARY"), "\(result.error)")
        }
        #expect(try household.failure(["otp", "get", "x"]).code == "item.not_found")
        let exposed = try household.keyfob(["otp", "set", "x", "CANARY"])
        #expect(exposed.status == 2)
        #expect(exposed.error.contains("otp set x --stdin"), "\(exposed.error)")
        #expect(!exposed.error.contains("CANARY"))
    }

    @Test func `a missing one is not removed, and a dry run removes nothing`() throws {
        try set("x")
        #expect(try household.keyfob(["otp", "rm", "y", "-y"]).status == 3)
        #expect(try household.keyfob(["otp", "rm", "y", "-y", "--if-exists"]).status == 0)
        #expect(try household.keyfob(["otp", "rm", "x", "--dry-run"]).output.contains("one-time password \"x\""))
        #expect(try household.keyfob(["otp", "rm", "x"]).status == 12)
        #expect(try household.document(["otp", "rm", "x", "-y"])["changed"] as? Bool == true)
        #expect(try household.keyfob(["otp", "get", "x"]).status == 3)
    }

    @Test func `a reference gives a program the current code`() throws {
        try set("x")
        try household.set("x", "password")
        let script = "printf '%s %s' \"$A\" \"$B\""
        let options = ["run", "--env", "A=keyfob://x?field=otp", "--env", "B=x", "--", "sh", "-c", script]
        let printed = try household.keyfob(options).output
        #expect(printed.wholeMatch(of: /\d{6} password/) != nil, "\(printed)")
        let masked = try household.keyfob(["run", "--mask"] + options.dropFirst()).output
        #expect(masked.wholeMatch(of: /\d{6} .*/) == nil, "\(masked)")
        #expect(try household.keyfob(["run", "--env", "A=keyfob://y?field=otp", "--", "true"]).status == 125)
        #expect(try household.keyfob(["run", "--env", "A=keyfob://otp:x", "--", "true"]).error.contains("otp get"))
    }
}
