import Foundation
import TestSupport
import Testing

/// One certificate on the token that is several items, in different access groups.
@Suite struct SharedCertificateTests {
    private func share(_ home: IdentityHome, _ group: String, _ label: String) throws {
        let child = Tool.products.appendingPathComponent("TestChild").path
        let arguments = ["-", "-", "-", "share", home.file("web.der"), group, label]
        let result = try Tool(child, arguments, environment: home.environment).run()
        try #require(result.status == 0, "\(result.error)")
    }

    private func labels(_ home: IdentityHome) throws -> [String] {
        let result = try home.keyfob("cert", "ls", "--all", "--json")
        let object = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        let list = try #require(object?["certificates"] as? [[String: Any]], "\(result.output)\(result.error)")
        return list.compactMap { $0["name"] as? String }.sorted()
    }

    @Test func `only the items of the given name are removed`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("web")
        try home.shell("openssl x509 -in web.pem -outform DER -out web.der")
        let files = [home.file("web.key"), home.file("web.pem")]
        #expect(try home.keyfob("identity", "import", files[0], files[1], "--name", "web").status == 0)
        for (group, label) in [("one", "first"), ("two", "second"), ("three", "second")] {
            try share(home, group, label)
        }
        #expect(try labels(home) == ["first", "second", "second", "web"])

        let planned = try home.keyfob("cert", "rm", "second", "--dry-run")
        #expect(planned.output == "Would remove certificate \"second\". It stays as \"web\", \"first\".\n", "\(planned)")
        let document = try IdentityHome.json(home.keyfob("cert", "rm", "second", "--dry-run", "--json"))
        #expect(document["kept"] as? [String] == ["web", "first"])
        let removal = try home.keyfob("cert", "rm", "second", "--yes")
        #expect(removal.status == 0, "\(removal.error)")
        #expect(removal.output == "Removed certificate \"second\". It stays as \"web\", \"first\".\n")
        #expect(try labels(home) == ["first", "web"])
        #expect(try home.keyfob("identity", "check", "web").status == 0)
        // The item that has the object's own label.
        #expect(try home.keyfob("cert", "rm", "web", "--yes").status == 0)
        #expect(try labels(home) == ["first"])

        // The certificate's other item needs the key.
        #expect(try home.keyfob("cert", "import", files[1], "--name", "web").status != 0)
        try share(home, "two", "web")
        #expect(try home.keyfob("identity", "rm", "first", "--yes").status == 0)
        #expect(try labels(home) == ["web"] && home.keyfob("identity", "check", "web").status == 0)

        try share(home, "three", "third")
        let digest = try home.shell("openssl x509 -in web.pem -noout -fingerprint -sha256 | cut -d= -f2 | tr -d '\\n'")
        let all = try home.keyfob("cert", "rm", "sha256:" + digest, "--yes", "--json")
        #expect(all.status == 0 && all.output.contains("\"kept\":[]"), "\(all.output)\(all.error)")
        #expect(try labels(home).isEmpty && home.keyfob("key", "rm", "web", "--yes").status == 0)
    }

    @Test func `an identity that several groups see is renewed once, for all of them`() throws {
        let home = try IdentityHome()
        #expect(try home.keyfob("identity", "create", "web", "--self-signed", "--dns", "web.example").status == 0)
        #expect(try home.keyfob("cert", "export", "web", "-o", home.file("web.pem")).status == 0)
        try home.shell("openssl x509 -in web.pem -outform DER -out web.der")
        try share(home, "one", "web")
        for count in 2...3 {
            let renewal = try home.keyfob("identity", "renew", "--all", "--force", "--json")
            let object = try JSONSerialization.jsonObject(with: Data(renewal.output.utf8)) as? [String: Any]
            #expect(renewal.status == 0 && (object?["identities"] as? [Any])?.count == 1, "\(renewal)")
            // Each version is two items.
            let labels = try labels(home)
            #expect(labels.count == 2 * count && labels.count { $0 == "web" } == 2, "\(labels)")
        }
        // An older version is removed completely, and is named once.
        let retired = try home.keyfob("identity", "retire", "web", "--yes", "--json")
        let object = try JSONSerialization.jsonObject(with: Data(retired.output.utf8)) as? [String: Any]
        #expect(retired.status == 0 && (object?["retired"] as? [Any])?.count == 2, "\(retired)")
        #expect(try labels(home) == ["web", "web"])
        #expect(try home.keyfob("identity", "renew", "web", "--force", "--new-key").status == 0)
        let version = try #require(try labels(home).first { $0 != "web" })
        #expect(try home.keyfob("identity", "retire", version, "--yes").status == 0)
        #expect(try labels(home) == ["web", "web"])
        #expect(try home.keyfob("identity", "check", "web").status == 0)
    }

    /// An identity called `web` whose certificate one access group sees, with an older version.
    private func makeWeb(_ home: IdentityHome, of group: String) throws {
        let name = "web-" + group
        try #require(home.keyfob("identity", "create", name, "--self-signed", "--dns", "\(group).example").status == 0)
        try #require(home.keyfob("identity", "renew", name, "--force").status == 0)
        let result = try Tool(
            Tool.products.appendingPathComponent("TestChild").path, ["-", "-", "-", "give", name, group, "web"], environment: home.environment).run()
        try #require(result.status == 0, "\(result.error)")
    }

    @Test func `if another owner has the name, the hint of a removal means the versions of its own`() throws {
        let home = try IdentityHome()
        for group in ["one", "two"] { try makeWeb(home, of: group) }
        let shown = try IdentityHome.json(home.keyfob("identity", "show", "one.example", "--json"))
        let mark = try #require(shown["fingerprint"] as? String)
        let removed = try home.keyfob("identity", "rm", mark, "--yes")
        let hint = try #require(
            removed.output.firstMatch(of: /\(to destroy that: keyfob (identity retire sha256:[0-9a-f]+)\)/), "\(removed)").1
        // The name alone would mean the other owner's.
        try home.shell("'\(Tool.keyfob([]).path)' \(hint) --yes")
        let left = try home.keyfob("cert", "ls", "--all", "--json").output
        let subjects = left.matches(of: /"subject":"CN=(\w+)\.example"/).map { String($0.output.1) }
        #expect(subjects == ["two", "two"], "\(left)")
        // If no other owner has it, the name is enough.
        let alone = try home.keyfob("identity", "rm", "web", "--dry-run")
        #expect(alone.output.contains("(to destroy that: keyfob identity retire web)"), "\(alone)")
    }

    @Test func `only the older versions of its owner are retired`() throws {
        let home = try IdentityHome()
        for group in ["one", "two"] { try makeWeb(home, of: group) }
        #expect(try labels(home).count == 4)
        let ambiguous = try home.keyfob("identity", "retire", "web", "--yes", "--json")
        #expect(ambiguous.status == 4)
        #expect(try IdentityHome.code(ambiguous) == "item.ambiguous" && labels(home).count == 4)
        #expect(try home.keyfob("identity", "retire", "one.example", "--yes").status == 0)
        let left = try home.keyfob("cert", "ls", "--all", "--json").output
        let subjects = left.matches(of: /"subject":"CN=(\w+)\.example"/).map { String($0.output.1) }.sorted()
        #expect(subjects == ["one", "two", "two"], "\(left)")
        // The rest of an identity whose name no item has any longer.
        #expect(try home.keyfob("identity", "rm", "two.example", "--yes").status == 3)
        for name in ["two.example", "one.example"] {
            #expect(try home.keyfob("cert", "export", name, "-o", home.file("\(name).pem")).status == 0)
            let digest = try home.shell("openssl x509 -in \(name).pem -noout -fingerprint -sha256 | cut -d= -f2 | tr -d '\\n'")
            #expect(try home.keyfob("identity", "rm", "sha256:" + digest, "--yes").status == 0)
        }
        let rest = try home.keyfob("identity", "retire", "web", "--yes")
        #expect(rest.status == 0 && rest.output.hasPrefix("Retired web@"), "\(rest)")
        #expect(try labels(home).isEmpty)
    }
}
