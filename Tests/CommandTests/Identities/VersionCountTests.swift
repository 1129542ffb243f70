import Foundation
import TestSupport
import Testing

/// How many versions of an identity stay, and which identities nothing renews.
@Suite struct VersionCountTests {
    private static func home() throws -> IdentityHome {
        let home = try IdentityHome()
        let made = try home.keyfob("identity", "create", "web", "--dns", "a.example.org", "--self-signed")
        try #require(made.status == 0, "\(made.error)")
        return home
    }

    /// The names of all versions.
    private static func versions(_ home: IdentityHome) throws -> [String] {
        let listed = try IdentityHome.json(home.keyfob("identity", "ls", "--json"))
        return try #require(listed["identities"] as? [[String: Any]]).compactMap { $0["name"] as? String }
    }

    private static func keys(_ home: IdentityHome) throws -> Int {
        try #require(IdentityHome.json(home.keyfob("key", "ls", "--json"))["keys"] as? [Any]).count
    }

    @Test func `a renewal keeps two older versions, or as many as --keep says`() throws {
        let home = try Self.home()
        for _ in 0..<4 {
            let renewed = try home.keyfob("identity", "renew", "web", "--force", "--new-key")
            #expect(renewed.status == 0, "\(renewed.error)")
        }
        #expect(try Self.versions(home).count == 3)
        // The keys of the destroyed versions are destroyed too.
        #expect(try Self.keys(home) == 3)
        let document = try IdentityHome.json(
            home.keyfob("identity", "renew", "web", "--force", "--keep", "1", "--json"))
        let identity = try #require((document["identities"] as? [[String: Any]])?.first)
        #expect((identity["retired"] as? [String])?.count == 2)
        #expect(identity["retire_failure"] is NSNull)
        #expect(try Self.versions(home).count == 2)
        #expect(try home.keyfob("identity", "renew", "web", "--force", "--keep", "0").status == 0)
        #expect(try Self.versions(home) == ["web"])
        #expect(try home.keyfob("identity", "check", "web").status == 0)
    }

    @Test(arguments: ["--json", "--quiet"])
    func `a version that cannot be destroyed hides no other that was`(option: String) throws {
        let (home, environment) = try TestHome.withCard()
        func keyfob(_ words: String..., refusing fault: String = "") throws -> Tool.Result {
            let result = try home.keyfob(words, environment: environment.merging(["FAULTY_REFUSE": fault]) { $1 })
            try #require(result.status == 0, "\(words): \(result.error)")
            return result
        }
        _ = try keyfob("identity", "create", "web", "--dns", "a.example.org", "--self-signed")
        for _ in 0..<3 { _ = try keyfob("identity", "renew", "web", "--force", "--new-key", "--keep", "9") }
        // One version is three objects.
        let renewed = try keyfob(
            "identity", "renew", "web", "--force", "--keep", "0", option,
            refusing: "answer=C_DestroyObject,0x80000114,999,5")
        guard option == "--json" else {
            #expect(renewed.error.contains("older versions could not be destroyed: "), "\(renewed.error)")
            return
        }
        let document = try JSONSerialization.jsonObject(with: Data(renewed.output.utf8)) as? [String: Any]
        let identity = try #require((document?["identities"] as? [[String: Any]])?.first)
        #expect((identity["retired"] as? [String])?.count == 1, "\(renewed.output)")
        #expect((identity["retire_failure"] as? [String: Any])?["message"] is String, "\(renewed.output)")
    }

    @Test(arguments: [[], ["--json"]])
    func `an error of retire names the versions that are destroyed by then`(options: [String]) throws {
        let (home, environment) = try TestHome.withCard()
        func keyfob(_ words: [String], refusing fault: String = "") throws -> Tool.Result {
            try home.keyfob(words, environment: environment.merging(["FAULTY_REFUSE": fault]) { $1 })
        }
        try #require(keyfob(["identity", "create", "web", "--dns", "a.example.org", "--self-signed"]).status == 0)
        for _ in 0..<2 { try #require(keyfob(["identity", "renew", "web", "--force", "--new-key"]).status == 0) }
        // One version is three objects.
        let failed = try keyfob(
            ["identity", "retire", "--all", "--yes"] + options, refusing: "answer=C_DestroyObject,0x80000114,999,3")
        #expect(failed.status == 1, "\(failed.error)")
        let expected = options.isEmpty ? "Retired web@" : "\"retired\":\"web@"
        #expect((failed.output + failed.error).contains(expected), "\(failed.output)\(failed.error)")
    }

    @Test func `the version that was just replaced stays, also if others are valid for longer`() throws {
        let home = try Self.home()
        try #require(home.keyfob("identity", "renew", "web", "--lifetime", "20d").status == 0)
        let serial = try IdentityHome.json(home.keyfob("identity", "show", "web", "--json"))["serial"] as? String
        let document = try IdentityHome.json(
            home.keyfob("identity", "renew", "web", "--force", "--keep", "1", "--json"))
        let identity = try #require((document["identities"] as? [[String: Any]])?.first)
        let kept = try #require((identity["kept"] as? [String])?.first)
        #expect(try Self.versions(home).sorted() == ["web", kept])
        let shown = try IdentityHome.json(home.keyfob("cert", "show", kept, "--json"))
        #expect(shown["serial"] as? String == serial)
    }

    @Test func `a version that is still needed stays`() throws {
        let home = try IdentityHome()
        let made = try home.keyfob("identity", "create", "root", "--cn", "Root", "--authority", "--self-signed")
        try #require(made.status == 0, "\(made.error)")
        try #require(home.keyfob("trust", "add", "root").status == 0)
        let renewed = try home.keyfob("identity", "renew", "root", "--force", "--keep", "0")
        #expect(renewed.status == 0, "\(renewed.error)")
        #expect(try Self.versions(home).count == 2)
        let all = try home.keyfob("identity", "retire", "--all", "--yes")
        #expect(all.output == "Nothing to do: there is no unneeded older version.\n")
    }

    @Test func `retire --all destroys the older versions of all identities`() throws {
        let home = try Self.home()
        try #require(home.keyfob("identity", "create", "api", "--dns", "b.example.org", "--self-signed").status == 0)
        for name in ["web", "api"] { try #require(home.keyfob("identity", "renew", name, "--force").status == 0) }
        #expect(try Self.versions(home).count == 4)
        #expect(try home.keyfob("identity", "retire", "--all").status == 12)
        let retired = try IdentityHome.json(home.keyfob("identity", "retire", "--all", "--yes", "--json"))
        #expect((retired["retired"] as? [String])?.count == 2)
        #expect(try Self.versions(home) == ["api", "web"])
        #expect(try home.keyfob("identity", "retire").status == 2)
    }

    @Test func `renew --all prints nothing if nothing is due, and names what is due and nothing renews`() throws {
        let home = try Self.home()
        let silent = try home.keyfob("identity", "renew", "--all")
        #expect(silent.status == 0)
        #expect(silent.output.isEmpty)
        #expect(silent.error.isEmpty)
        // Valid since 2020, so most of its lifetime has passed.
        try home.makeSelfSigned("old", days: 20)
        let imported = try home.keyfob(
            "identity", "import", home.file("old.pem"), "--key", home.file("old.key"), "--name", "old")
        try #require(imported.status == 0, "\(imported.error)")
        let warned = try home.keyfob("identity", "renew", "--all")
        #expect(warned.status == 0)
        #expect(warned.output.isEmpty)
        #expect(warned.error.hasPrefix("keyfob: nothing renews \"old\", which expires in"), "\(warned.error)")
        #expect(warned.error.contains("keyfob identity renew old --issuer ISSUER"))
        let document = try IdentityHome.json(home.keyfob("identity", "renew", "--all", "--json"))
        #expect(document["without_issuer"] as? [String] == ["old"])
    }

    @Test func `an identity is shown with its issuer, its policy and the day of its renewal`() throws {
        let home = try Self.home()
        let shown = try home.keyfob("identity", "show", "web")
        #expect(shown.output.contains("renewed by   self-signed\n"), "\(shown.output)")
        #expect(shown.output.contains("\nrenewal due  20"), "\(shown.output)")
        let document = try IdentityHome.json(home.keyfob("identity", "show", "web", "--json"))
        let due = try #require((document["renewal_due"] as? String).flatMap { ISO8601DateFormatter().date(from: $0) })
        #expect((58 * 86_400.0...60 * 86_400).contains(due.timeIntervalSinceNow))
        #expect(document["renews_key"] as? Bool == false)
        try home.makeSelfSigned("old", days: 20)
        try #require(
            home.keyfob("identity", "import", home.file("old.pem"), "--key", home.file("old.key"), "--name", "old")
                .status == 0)
        #expect(try home.keyfob("identity", "show", "old").output.contains("renewed by   nothing; to have it renewed"))
    }
}
