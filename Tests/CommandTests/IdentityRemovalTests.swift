import Foundation
import TestSupport
import Testing

/// A removal reports what stays, so that users do not believe that a key is gone while it exists.
@Suite struct IdentityRemovalTests {
    private func make(_ home: IdentityHome, _ name: String, _ renewals: String...) throws -> [String] {
        try #require(home.keyfob("identity", "create", name, "--cn", name, "--self-signed").status == 0)
        return try renewals.map { option in
            let renewed = try IdentityHome.json(home.keyfob("identity", "renew", name, "--force", option, "--json"))
            let identity = try #require((renewed["identities"] as? [[String: Any]])?.first)
            return try #require((identity["kept"] as? [String])?.first)
        }
    }

    @Test func `every report of a removal says that a key of an older version stays`() throws {
        let home = try IdentityHome()
        let kept = try #require(make(home, "web", "--same-key").first)
        let remark = "Its key stays: \"\(kept)\" uses it (to destroy that: keyfob identity retire web)."
        let asked = try home.keyfob("identity", "rm", "web")
        #expect(asked.status == 12 && asked.error.contains("identity \"web\" on token \"login\"? \(remark)"), "\(asked.error)")
        let planned = try home.keyfob("identity", "rm", "web", "--dry-run")
        #expect(planned.output == "Would remove identity \"web\". \(remark)\n")
        for option in ["--dry-run", "--yes"] {
            let document = try IdentityHome.json(home.keyfob("identity", "rm", "web", option, "--json"))
            #expect(document["key_kept"] as? Bool == true && document["is_removed"] as? Bool == (option == "--yes"))
            #expect(document["key_kept_for"] as? [String] == [kept] && document["kept"] as? [String] == [kept])
        }
        // The report was true, and the hint works.
        #expect(try !home.keyfob("key", "ls", "--format", "tsv").output.isEmpty)
        #expect(try home.keyfob("identity", "retire", "web", "--yes").status == 0)
        #expect(try home.keyfob("key", "ls", "--format", "tsv").output.isEmpty)
        let nothing = try IdentityHome.json(home.keyfob("identity", "rm", "web", "--yes", "--if-exists", "--json"))
        #expect(nothing["key_kept"] as? Bool == false && nothing["kept"] as? [String] == [])
    }

    @Test func `a removal reports that a key goes, and that older versions with other keys stay`() throws {
        let home = try IdentityHome()
        let kept = try #require(make(home, "web", "--new-key").first)
        _ = try make(home, "alone")
        let remark = "An older version stays, with its own key: \"\(kept)\" (to destroy that: keyfob identity retire web)."
        let asked = try home.keyfob("identity", "rm", "web")
        #expect(asked.error.contains("identity \"web\" and its key on token \"login\"? \(remark)"), "\(asked.error)")
        let document = try IdentityHome.json(home.keyfob("identity", "rm", "web", "--dry-run", "--json"))
        #expect(document["key_kept"] as? Bool == false && document["key_kept_for"] as? [String] == [])
        #expect(document["kept"] as? [String] == [kept])
        #expect(try home.keyfob("identity", "rm", "web", "--yes").output == "Removed identity \"web\". \(remark)\n")
        #expect(try home.keyfob("identity", "rm", "alone", "--yes").output == "Removed identity \"alone\".\n")
    }

    @Test func `the hint names the keychain that the command named`() throws {
        let home = try IdentityHome()
        try #require(home.keyfob("keychain", "create", "other", "--unattended").status == 0)
        for words in [["create", "--cn", "web", "--self-signed"], ["renew", "--force"]] {
            let made = try Tool.keyfob(
                ["-k", "other", "identity", words[0], "web"] + words.dropFirst(), environment: home.environment
            ).run()
            try #require(made.status == 0, "\(made.error)")
        }
        let removed = try home.keyfob("-k", "other", "identity", "rm", "web", "--yes")
        #expect(removed.output.hasSuffix("(to destroy that: keyfob -k other identity retire web).\n"), "\(removed.output)")
    }

    @Test func `the removal of an authority first reports what is lost with it`() throws {
        let home = try IdentityHome()
        try home.shell(
            """
            "$0" identity create root --cn R --authority --self-signed -q
            "$0" identity create web --dns localhost --issuer root -q
            """.replacing("\"$0\"", with: "'\(Tool.keyfob([]).path)'"))
        let issued = try home.keyfob("identity", "rm", "root", "--dry-run")
        #expect(issued.status == 0 && issued.output.contains("\"root\" issued \"web\""), "\(issued.output)")
        #expect(try home.keyfob("trust", "add", "root", "--yes").status == 0)
        let trusted = try home.keyfob("identity", "rm", "root", "--dry-run")
        #expect(trusted.output.contains("\"root\" is trusted: what it issued would be trusted no more."))
        let certificate = try home.keyfob("cert", "rm", "root", "--dry-run")
        #expect(certificate.output.contains("It is trusted"), "\(certificate.output)")
        let leaf = try home.keyfob("identity", "rm", "web", "--dry-run")
        #expect(leaf.status == 0 && !leaf.output.contains("trusted") && !leaf.output.contains("issued"))
        #expect(try home.keyfob("cert", "rm", "web", "--dry-run").output.contains("trusted") == false)
    }
}
