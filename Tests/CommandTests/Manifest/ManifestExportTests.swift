import Foundation
import TestSupport
import Testing

/// `keyfob manifest init`, `schema` and `export`.
@Suite struct ManifestExportTests {
    @Test func `the manifest of a keychain made by hand has an empty plan, and makes another one like it`() throws {
        let home = try ManifestHome()
        func run(_ arguments: [String], input: String = "") throws {
            let result = try home.home.keyfob(arguments + ["-k", "site"], input: Data(input.utf8))
            try #require(result.status == 0, "\(arguments): \(result.error)")
        }
        let made = try home.keyfob(["keychain", "create", "site", "--unattended"])
        try #require(made.status == 0, "\(made.error)")
        try run(["set", "db/prod", "--user", "app", "--comment", "a \"remark\": yes", "--stdin"], input: "x")
        try run(["set", "db/prod", "--stdin", "--user", "other"], input: "y")
        try run(["set", "mail", "--server", "mail.example.org", "--protocol", "smtp", "--port", "587", "--stdin"], input: "z")
        try run(["key", "generate", "signing", "--type", "rsa", "--size", "2048"])
        try run(["key", "generate", "wrap", "--type", "aes", "--extractable"])
        try run(["identity", "create", "root", "--cn", "Root", "--authority", "--path-length", "0", "--self-signed", "--lifetime", "2y"])
        try run([
            "identity", "create", "web", "--subject", "CN=www.example.org,O=A: B", "--dns", "www.example.org", "--ip",
            "10.0.0.1", "--issuer", "root", "--usage", "server", "--usage", "client",
        ])
        try run(["trust", "add", "root", "--for", "server"])

        let exported = try home.keyfob(["manifest", "export", "-k", "site", "-o", home.path("site.yaml")])
        try #require(exported.status == 0, "\(exported.error)")
        let plan = try home.keyfob(["plan", home.path("site.yaml"), "--exit-code"])
        let text = try home.text("site.yaml")
        #expect(plan.status == 0, "\(plan.output)\(plan.error)\(text)")

        let second = try ManifestHome()
        try Data(home.text("site.yaml").utf8).write(to: URL(fileURLWithPath: second.path("site.yaml")))
        try second.apply(
            environment: [
                "KEYFOB_SECRET_DB_PROD_APP": "x", "KEYFOB_SECRET_DB_PROD_OTHER": "y", "KEYFOB_SECRET_MAIL": "z",
            ])
        #expect(try second.isUpToDate())
        #expect(try second.keyfob(["get", "db/prod", "--user", "app", "-k", "site"]).output == "x\n")
        #expect(try second.keyfob(["cert", "verify", "web", "-k", "site"]).status == 0)
    }

    @Test func `an export names another variable for each secret, and none that a shell has set`() throws {
        let home = try ManifestHome()
        try home.write("")
        try home.apply()
        let names = ["path", "db/prod", "db-prod", "schlüssel"]
        for name in names { try home.home.set(name, "value of " + name, ["-k", "site"]) }
        let exported = try home.keyfob(["manifest", "export", "-k", "site", "-o", home.path("exported.yaml")])
        try #require(exported.status == 0, "\(exported.error)")
        let sources = try home.text("exported.yaml").matches(of: /valueFrom: env:(.*)/).map { String($0.output.1) }
        #expect(Set(sources).count == names.count, "\(sources)")
        #expect(sources.allSatisfy { $0.wholeMatch(of: /KEYFOB_SECRET_[A-Z0-9_]+/) != nil }, "\(sources)")
        #expect(sources.contains("KEYFOB_SECRET_PATH"), "\(sources)")
    }

    @Test func `an export leaves out what a manifest cannot have, and says so`() throws {
        let home = try ManifestHome()
        try home.write("")
        try home.apply()
        for name in ["pkcs11:x", " ", "\u{2028}", "\u{AD}", "fine"] { try home.home.set(name, "value", ["-k", "site"]) }
        let exported = try home.keyfob(["manifest", "export", "-k", "site", "-o", home.path("exported.yaml")])
        try #require(exported.status == 0, "\(exported.error)")
        let text = try home.text("exported.yaml")
        #expect(text.contains("# Left out of secrets: \"pkcs11:x\" (this cannot be a name,"), "\(text)")
        #expect(text.contains("- name: fine\n"), "\(text)")
        let plan = try home.keyfob(["plan", home.path("exported.yaml"), "--exit-code"])
        #expect(plan.status == 0, "\(plan.output)\(plan.error)\(text)")
    }

    @Test func `the example can be applied`() throws {
        let home = try ManifestHome()
        let made = try home.keyfob(["manifest", "init", "--keychain", "site", "-o", home.path("site.yaml")])
        try #require(made.status == 0, "\(made.error)")
        #expect(try home.keyfob(["manifest", "init", "-o", home.path("site.yaml")]).status == 12)
        #expect(try home.keyfob(["manifest", "validate", home.path("site.yaml")]).status == 0)
        let text = try home.text("site.yaml").replacing("/etc/nginx/tls/web.pem", with: home.path("web.pem"))
            .replacing("[systemctl, reload, nginx]", with: "[\"true\"]")
        try Data(text.utf8).write(to: URL(fileURLWithPath: home.path("site.yaml")))
        try home.apply()
        #expect(try home.isUpToDate())
    }

    @Test func `the schema is JSON`() throws {
        let result = try Tool.keyfob(["manifest", "schema"]).run()
        let schema = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        #expect(schema?["$schema"] as? String == "https://json-schema.org/draft/2020-12/schema")
        #expect((schema?["properties"] as? [String: Any])?.keys.contains("secrets") ?? false)
    }
}
