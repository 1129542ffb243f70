import Foundation
import TestSupport
import Testing

/// Applies that meet what others have left: other manifests, failed applies, and items that look alike.
@Suite struct SeveralManifestsTests {
    @Test func `an apply keeps the programs that another manifest waits for`() throws {
        let home = try ManifestHome()
        let done = home.path("done")
        try home.write("secrets: [{name: a, generate: {}, onChange: [{run: [test, -e, \(done)]}]}]")
        #expect(try home.keyfob(["apply", home.path("site.yaml")]).status == 1)
        try home.write("secrets: [{name: b, generate: {}, onChange: [{run: [\"true\"]}]}]", to: "other.yaml")
        let other = try home.keyfob(["apply", home.path("other.yaml")])
        #expect(other.status == 0, "\(other.error)")
        #expect(try home.keyfob(["plan", home.path("other.yaml"), "--exit-code"]).status == 0)
        #expect(try !home.isUpToDate())
        try Data().write(to: URL(fileURLWithPath: done))
        try home.apply()
        #expect(try home.isUpToDate())
    }

    @Test func `a program waits no more once its entry names none`() throws {
        let home = try ManifestHome()
        let failing = "secrets: [{name: a, generate: {}, onChange: [{run: [\"false\"]}]}]"
        try home.write(failing)
        #expect(try home.keyfob(["apply", home.path("site.yaml")]).status == 1)
        #expect(try !home.isUpToDate())
        try home.write("secrets: [{name: a, generate: {}}, {name: b, generate: {}}]")
        try home.apply()
        try home.write(failing)
        #expect(try home.isUpToDate())
    }

    @Test func `prune also removes what was made beside the change that failed`() throws {
        let home = try ManifestHome()
        // The keychain takes only one certificate of an issuer and a serial number.
        try home.shell(
            """
            for name in one two; do
                openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key -out $name.pem \\
                    -days 30 -subj /CN=same -set_serial 7 2> errors
            done
            """)
        try home.write("certificates: [{name: one, file: one.pem}, {name: two, file: two.pem}]")
        let failed = try home.keyfob(["apply", home.path("site.yaml")])
        #expect(failed.status == 4, "\(failed.error)")
        try home.write("prune: true")
        let changes = try home.changes()
        #expect(changes.count == 1 && changes.allSatisfy { $0.hasPrefix("delete certificate ") }, "\(changes)")
    }

    @Test func `prune also removes what an apply made before it failed`() throws {
        let home = try ManifestHome()
        let identity = """
            issuers: {corp: {type: exec, command: [/bin/false]}}
            identities: [{name: web, commonName: web, issuer: corp}]
            prune: true
            """
        try home.write("secrets: [{name: a, generate: {}}]\n" + identity)
        #expect(try home.keyfob(["apply", home.path("site.yaml")]).status != 0)
        #expect(try home.keyfob(["get", "a", "-k", "site"]).status == 0)
        try home.write("prune: true")
        try home.apply()
        #expect(try home.keyfob(["get", "a", "-k", "site"]).status == 3)
    }

    @Test func `an entry changes the password with the very bytes of its name only`() throws {
        let home = try ManifestHome()
        try home.write("prune: false")
        try home.apply()
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        try home.home.set(composed, "one", ["-k", "site"])
        try home.home.set(decomposed, "two", ["-k", "site"])
        try home.write("secrets: [{name: \"caf\\u00e9\", valueFrom: \"env:V\"}]")
        try home.apply(environment: ["V": "new"])
        #expect(try home.keyfob(["get", composed, "-k", "site"]).output == "new\n")
        #expect(try home.keyfob(["get", decomposed, "-k", "site"]).output == "two\n")
    }

    @Test func `an entry neither renames nor destroys a key whose name only looks the same`() throws {
        let home = try ManifestHome()
        try home.write("prune: false")
        try home.apply()
        let made = try home.keyfob(["key", "generate", "cafe\u{301}", "-k", "site"])
        try #require(made.status == 0, "\(made.error)")
        try home.write("keys: [{name: \"caf\\u00e9\", type: ec, curve: p384, rotate: true}]")
        try home.apply()
        #expect(try home.isUpToDate())
        let keys = try #require(try home.home.document(["key", "ls", "-k", "site"])["keys"] as? [[String: Any]])
        #expect(Set(keys.map { $0["type"] as? String }) == ["EC P-256", "EC P-384"], "\(keys)")
    }

    @Test func `an entry does not change the password of a helper with the same server and account`() throws {
        let home = try ManifestHome()
        try home.write("prune: false")
        try home.apply()
        let login = Data("{\"ServerURL\": \"https://registry.example\", \"Username\": \"me\", \"Secret\": \"mine\"}".utf8)
        #expect(try home.home.keyfob(["helper", "docker", "store", "-k", "site"], input: login).status == 0)
        let exported = try home.keyfob(["manifest", "export", "-k", "site"]).output
        #expect(exported.contains("# Left out"), "\(exported)")
        try home.write(
            "secrets: [{name: registry.example, server: registry.example, protocol: https, user: me, generate: {}}]")
        try home.apply()
        let answer = try home.home.keyfob(
            ["helper", "docker", "get", "-k", "site"], input: Data("https://registry.example".utf8))
        #expect(answer.output.contains("\"mine\""), "\(answer)")
    }

    @Test func `trust moves to the new certificate of an identity in one apply`() throws {
        let home = try ManifestHome()
        func write(_ name: String) throws {
            try home.write(
                "identities: [{name: w, commonName: \(name), issuer: self}]\ntrust: [{certificate: w}]\nprune: true")
        }
        try write("one")
        try home.apply()
        try write("two")
        try home.apply()
        #expect(try home.isUpToDate())
    }

    @Test func `a certificate stays trusted when its identity is only renamed`() throws {
        let home = try ManifestHome()
        func write(_ names: String, trusts name: String) throws {
            try home.write(
                "identities: [{\(names), commonName: web, issuer: self}]\ntrust: [{certificate: \(name)}]\nprune: true")
        }
        try write("name: w", trusts: "w")
        try home.apply()
        try write("name: v, renamedFrom: w", trusts: "v")
        #expect(try home.changes() == ["update identity v"])
        try home.apply()
        #expect(try home.isUpToDate())
    }
}
