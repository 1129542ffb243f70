import Foundation
import TestSupport
import Testing

/// Changing what the next certificate of an identity says.
@Suite struct CertificateChangeTests {
    /// A home with the self-signed identity `web` for two names and a lifetime of 60 days.
    private static func home() throws -> IdentityHome {
        let home = try IdentityHome()
        let made = try home.keyfob(
            "identity", "create", "web", "--dns", "a.example.org", "--ip", "192.0.2.1", "--self-signed", "--lifetime",
            "60d")
        try #require(made.status == 0, "\(made.error)")
        return home
    }

    private static func names(_ home: IdentityHome) throws -> [String] {
        let shown = try IdentityHome.json(home.keyfob("identity", "show", "web", "--json"))
        return try #require(shown["names"] as? [String])
    }

    private static func serial(_ home: IdentityHome) throws -> String {
        try #require(IdentityHome.json(home.keyfob("identity", "show", "web", "--json"))["serial"] as? String)
    }

    @Test func `names replace those of their kind, and a renewal without them keeps them`() throws {
        let home = try Self.home()
        let renewed = try home.keyfob("identity", "renew", "web", "--dns", "b.example.org", "--dns", "c.example.org")
        #expect(renewed.status == 0, "\(renewed.error)")
        let expected = ["DNS:b.example.org", "DNS:c.example.org", "IP Address:192.0.2.1"]
        #expect(try Self.names(home) == expected)
        let shown = try IdentityHome.json(home.keyfob("identity", "show", "web", "--json"))
        // The former host is in no name.
        #expect(shown["common_name"] as? String == "b.example.org")
        #expect(try home.keyfob("identity", "renew", "web", "--force").status == 0)
        #expect(try Self.names(home) == expected)
        #expect(try home.keyfob("identity", "renew", "web", "--ip", "2001:db8::1").status == 0)
        let names = try Self.names(home)
        #expect(names.contains("IP Address:2001:DB8:0:0:0:0:0:1"))
        #expect(!names.contains("IP Address:192.0.2.1"))
    }

    @Test func `the same names again change nothing`() throws {
        let home = try Self.home()
        let serial = try Self.serial(home)
        let again = try home.keyfob("identity", "renew", "web", "--dns", "a.example.org", "--lifetime", "60d")
        #expect(again.output.hasPrefix("Nothing to do: web is at"), "\(again.output)")
        #expect(try Self.serial(home) == serial)
        let dry = try home.keyfob("identity", "renew", "web", "--dns", "b.example.org", "--dry-run")
        #expect(dry.output.contains("dry run"))
        #expect(try Self.serial(home) == serial)
    }

    @Test func `another lifetime, subject or usage is a reason to renew`() throws {
        let home = try Self.home()
        #expect(try home.keyfob("identity", "renew", "web", "--lifetime", "20d").status == 0)
        let changed = try home.keyfob("identity", "renew", "web", "--subject", "CN=web,O=Example", "--usage", "client")
        #expect(changed.status == 0, "\(changed.error)")
        let shown = try IdentityHome.json(home.keyfob("identity", "show", "web", "--json"))
        #expect(shown["subject"] as? String == "CN=web,O=Example")
        #expect((shown["extended_key_usage"] as? [String])?.count == 1)
        // The lifetime of the renewal before is repeated.
        #expect(shown["renewal_lifetime"] as? Int == 20 * 86_400)
    }

    @Test func `another issuer or key is a reason to renew, once`() throws {
        let home = try Self.home()
        let root = try home.keyfob("identity", "create", "root", "--cn", "Root", "--authority", "--self-signed")
        try #require(root.status == 0, "\(root.error)")
        for options in [["--new-key"], ["--issuer", "root"], ["--curve", "p384"]] {
            let before = try Self.serial(home)
            func renew() throws -> Tool.Result {
                try Tool.keyfob(["identity", "renew", "web"] + options, environment: home.environment).run()
            }
            let renewed = try renew()
            #expect(renewed.status == 0, "\(renewed.error)")
            let after = try Self.serial(home)
            #expect(after != before, "\(options): \(renewed.output)")
            #expect(try renew().output.hasPrefix("Nothing to do: web is at"), "\(options)")
            #expect(try Self.serial(home) == after, "\(options)")
        }
        let shown = try IdentityHome.json(home.keyfob("identity", "show", "web", "--json"))
        #expect(shown["issuer"] as? String == "CN=Root")
        #expect(shown["key"] as? String == "EC P-384")
    }

    @Test(arguments: [["web", "--authority"], ["--all", "--dns", "b.example.org"], ["web", "--keep", "-1"]])
    func `changes that a renewal cannot make are refused`(words: [String]) throws {
        let home = try Self.home()
        let result = try Tool.keyfob(["identity", "renew"] + words, environment: home.environment).run()
        #expect(result.status == 2, "\(result.error)")
    }

    @Test func `create --if-missing names the differences, and tells them by its exit code`() throws {
        let home = try Self.home()
        func create(_ words: String...) throws -> Tool.Result {
            try Tool.keyfob(
                ["identity", "create", "web", "--if-missing", "--exit-code"] + words, environment: home.environment
            ).run()
        }
        let same = try create(
            "--dns", "a.example.org", "--ip", "192.0.2.1", "--self-signed", "--lifetime", "60d")
        #expect(same.status == 0, "\(same.output)")
        #expect(same.output == "Nothing to do: identity \"web\" exists.\n")
        let other = try create("--dns", "b.example.org", "--issuer", "exec:/bin/false", "--lifetime", "10d", "--json")
        #expect(other.status == 10)
        let document = try #require(
            try JSONSerialization.jsonObject(with: Data(other.output.utf8)) as? [String: Any])
        let differences = try #require(document["differences"] as? [[String: String]])
        #expect(differences.compactMap { $0["member"] } == ["names", "issuer", "lifetime"])
        #expect(document["changed"] as? Bool == false)
        let key = try create("--dns", "a.example.org", "--ip", "192.0.2.1", "--self-signed", "--type", "rsa")
        #expect(key.status == 10)
        #expect(key.output.contains("  key   EC P-256; wanted: RSA"), "\(key.output)")
        // Without the flag, only the text says it.
        let quiet = try home.keyfob(
            "identity", "create", "web", "--if-missing", "--dns", "b.example.org", "--self-signed")
        #expect(quiet.status == 0)
        #expect(quiet.output.contains("keyfob identity renew web"), "\(quiet.output)")
        // A renewal cannot change this.
        let authority = try create(
            "--dns", "a.example.org", "--ip", "192.0.2.1", "--self-signed", "--authority")
        #expect(authority.output.contains("  authority   no; wanted: yes"), "\(authority.output)")
        #expect(!authority.output.contains("identity renew"), "\(authority.output)")
    }
}
