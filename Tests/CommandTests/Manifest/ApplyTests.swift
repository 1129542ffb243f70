import Foundation
import TestSupport
import Testing

/// `keyfob plan` and `keyfob apply`.
@Suite struct ApplyTests {
    private static let whole = """
        secrets:
          - {name: db/password, user: app, generate: {length: 24, charset: hex}, outputs: [{value: out/password}]}
          - {name: relay, server: mail.example.org, valueFrom: "env:RELAY"}
        keys:
          - {name: signing, type: ec, curve: p384}
        identities:
          - name: web
            commonName: www.example.org
            issuer: root
            outputs: [{chain: out/web.pem, keyUri: out/web.uri, mode: 0600}]
            onChange: [{run: [sh, -c, "echo changed >> out/log"]}]
          - {name: root, commonName: Root, authority: true, lifetime: 1y, issuer: self}
        trust:
          - {certificate: root, for: [server]}
        """

    /// The paths of hooks are not those of the manifest, so the hook gets an absolute one.
    private func whole() throws -> ManifestHome {
        let home = try ManifestHome()
        try FileManager.default.createDirectory(atPath: home.path("out"), withIntermediateDirectories: false)
        try home.write(Self.whole.replacingOccurrences(of: ">> out/log", with: ">> \(home.path("out/log"))"))
        return home
    }

    private static let relay = ["RELAY": "relay-secret"]

    @Test func `an apply makes everything, and the second one changes nothing`() throws {
        let home = try whole()
        let plan = try home.keyfob(["plan", home.path("site.yaml"), "--exit-code"], environment: Self.relay)
        #expect(plan.status == 10, "\(plan.error)")
        #expect(plan.output.contains("+ secret       db/password"), "\(plan.output)")
        #expect(plan.output.contains("Plan: 10 to add, 0 to change, 0 to remove, 0 unchanged."), "\(plan.output)")
        #expect(!FileManager.default.fileExists(atPath: home.home.keychain("site")))

        let applied = try home.apply(environment: Self.relay)
        #expect(applied.output.contains("Applied 10 changes."), "\(applied.output)")
        #expect(try home.keyfob(["get", "relay", "-k", "site"]).output == "relay-secret\n")
        let password = try home.keyfob(["get", "db/password", "-k", "site"]).output
        #expect(password.wholeMatch(of: /[0-9a-f]{24}\n/) != nil)
        #expect(try home.text("out/password") + "\n" == password)
        #expect(try home.text("out/web.uri").hasPrefix("pkcs11:"))
        #expect(try home.text("out/log") == "changed\n")
        #expect(try home.keyfob(["cert", "verify", "web", "-k", "site"]).status == 0)
        let mode = try FileManager.default.attributesOfItem(atPath: home.path("out/web.pem"))[.posixPermissions]
        #expect(mode as? Int == 0o600)

        let before = try home.files()
        let again = try home.apply(environment: Self.relay)
        #expect(again.output.hasPrefix("Nothing to do"), "\(again.output)")
        #expect(try home.isUpToDate(environment: Self.relay))
        #expect(try home.files() == before)
        #expect(try home.text("out/log") == "changed\n")
    }

    @Test func `drift is named member by member, and mended`() throws {
        let home = try whole()
        try home.apply(environment: Self.relay)
        try home.home.set("relay", "other", ["--replace", "-k", "site"])
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: home.path("out/web.pem"))
        try Data("edited".utf8).write(to: URL(fileURLWithPath: home.path("out/password")))
        let plan = try home.keyfob(["plan", home.path("site.yaml")], environment: Self.relay).output
        #expect(plan.contains("~ secret       relay"), "\(plan)")
        #expect(plan.contains("value: differs"), "\(plan)")
        #expect(plan.contains("mode: differs"), "\(plan)")
        #expect(!plan.contains("other"), "\(plan)")
        #expect(!plan.contains("relay-secret"), "\(plan)")
        try home.apply(environment: Self.relay)
        #expect(try home.keyfob(["get", "relay", "-k", "site"]).output == "relay-secret\n")
        #expect(try home.isUpToDate(environment: Self.relay))
    }

    @Test func `another name gives another certificate for the same key, and new files`() throws {
        let home = try whole()
        try home.apply(environment: Self.relay)
        let (chain, uri) = (try home.text("out/web.pem"), try home.text("out/web.uri"))
        let text = try home.text("site.yaml").replacing(
            "commonName: www.example.org", with: "commonName: www.example.org\n    dnsNames: [www.example.org, static.example.org]")
        try Data(text.utf8).write(to: URL(fileURLWithPath: home.path("site.yaml")))
        #expect(
            try home.entries(environment: Self.relay).filter { !$0.hasPrefix("none") }
                == ["update identity web", "update file \(home.path("out/web.pem"))"])
        try home.apply(environment: Self.relay)
        #expect(try home.text("out/web.pem") != chain)
        #expect(try home.text("out/web.uri") == uri)
        #expect(try home.text("out/log") == "changed\nchanged\n")
        #expect(try home.isUpToDate(environment: Self.relay))
    }

    @Test func `onConflict keep leaves a stored value`() throws {
        let home = try ManifestHome()
        try home.write("secrets: [{name: a, valueFrom: \"env:A\", onConflict: keep}]")
        try home.apply(environment: ["A": "first"])
        #expect(try home.isUpToDate(environment: ["A": "second"]))
        #expect(try home.isUpToDate())
    }

    @Test(arguments: ["owner", "group"])
    func `the number that leaves the owner of a file as it is cannot be one`(member: String) throws {
        let home = try ManifestHome()
        try home.write("secrets: [{name: a, generate: {}, outputs: [{value: a.txt, \(member): \"4294967295\"}]}]")
        let result = try home.keyfob(["plan", home.path("site.yaml")])
        #expect(result.status == 2, "\(result.error)")
        #expect(result.error.contains("site.yaml:4:"), "\(result.error)")
        #expect(result.error.contains("\"4294967295\""), "\(result.error)")
    }

    @Test func `a source that gives nothing stops the apply before anything is made`() throws {
        let home = try ManifestHome()
        try home.write("secrets: [{name: a, generate: {}}, {name: b, valueFrom: \"env:MISSING\"}]")
        try home.apply(["--dry-run"])
        let result = try home.keyfob(["apply", home.path("site.yaml")])
        #expect(result.status == 6)
        #expect(result.error.contains("site.yaml:4:"), "\(result.error)")
        #expect(try home.keyfob(["get", "a", "-k", "site"]).status == 3)
    }

    @Test func `a command that does not end is stopped at the deadline`() throws {
        let home = try ManifestHome()
        try home.write("secrets: [{name: a, valueFrom: \"cmd:sleep 100\"}]")
        let result = try home.keyfob(["apply", home.path("site.yaml"), "--timeout", "1s"])
        #expect(result.status == 13, "\(result.error)")
    }

    @Test func `a program that fails is reported, and runs again at the next apply`() throws {
        let home = try ManifestHome()
        try home.write(
            "secrets: [{name: a, generate: {}, onChange: [{run: [test, -e, \(home.path("ready"))]}]}]")
        let failed = try home.keyfob(["apply", home.path("site.yaml")])
        #expect(failed.status == 1)
        #expect(failed.error.contains("test ended with status 1"), "\(failed.error)")
        #expect(try !home.isUpToDate())
        try Data().write(to: URL(fileURLWithPath: home.path("ready")))
        try home.apply()
        #expect(try home.isUpToDate())
    }

    @Test func `an issuer that fails stops the apply, which goes on later`() throws {
        let home = try ManifestHome()
        try home.write(
            """
            issuers: {corp: {type: exec, command: [/bin/false]}}
            secrets: [{name: a, generate: {}}]
            identities: [{name: web, commonName: w, issuer: corp}]
            """)
        let failed = try home.keyfob(["apply", home.path("site.yaml")])
        #expect(failed.status == 1)
        #expect(failed.error.contains("site.yaml:6:14: identity \"web\": "), "\(failed.error)")
        #expect(try home.entries() == ["none secret a", "create identity web"])
        try home.write("secrets: [{name: a, generate: {}}]\nidentities: [{name: web, commonName: w, issuer: self}]")
        try home.apply()
        #expect(try home.isUpToDate())
    }

    @Test func `a key is destroyed only with the option and the manifest's consent`() throws {
        let home = try ManifestHome()
        try home.write("keys: [{name: k}]")
        try home.apply()
        try home.write("keys: [{name: k, type: rsa, size: 2048}]")
        #expect(try home.keyfob(["apply", home.path("site.yaml")]).status == 2)
        try home.write("keys: [{name: k, type: rsa, size: 2048, rotate: true}]")
        let refused = try home.keyfob(["apply", home.path("site.yaml")])
        #expect(refused.status == 12)
        #expect(refused.error.contains("--allow-destroy-keys"), "\(refused.error)")
        try home.apply(["--allow-destroy-keys"])
        #expect(try home.isUpToDate())
    }

    @Test func `prune removes what an apply made, and nothing else`() throws {
        let home = try ManifestHome()
        try home.write("secrets: [{name: a, generate: {}}]\nkeys: [{name: k}]")
        try home.apply()
        try home.home.set("by-hand", "value", ["-k", "site"])
        try home.write("prune: true")
        #expect(try home.entries() == ["delete secret a"])
        try home.apply()
        #expect(try home.keyfob(["get", "a", "-k", "site"]).status == 3)
        #expect(try home.keyfob(["get", "by-hand", "-k", "site"]).status == 0)
        #expect(try home.keyfob(["key", "pub", "k", "-k", "site"]).status == 0)
    }

    @Test func `of two applies at once, the second one waits and then has nothing to do`() async throws {
        let home = try ManifestHome()
        // The program of the first one runs until the second one was refused.
        let script = "echo > \(home.path("in")); while ! test -e \(home.path("go")); do sleep 0.01; done"
        try home.write("secrets: [{name: a, generate: {}, onChange: [{run: [sh, -c, \"\(script)\"]}]}]")
        let path = home.path("site.yaml")
        async let first = onThread { try home.keyfob(["apply", path]) }
        let busy = try await onThread {
            while !FileManager.default.fileExists(atPath: home.path("in")) { usleep(1000) }
            let busy = try home.keyfob(["apply", path, "--timeout", "200ms"])
            try Data().write(to: URL(fileURLWithPath: home.path("go")))
            return busy
        }
        #expect(busy.status == 13)
        #expect(busy.error.contains("another apply to keychain \"site\" is under way, by keyfob"), "\(busy.error)")
        let second = try home.apply(["--timeout", "60s"])
        #expect(second.output.hasPrefix("Nothing to do"), "\(second.output)")
        #expect(try await first.status == 0)
    }

    @Test func `errors in a manifest are found before a keychain is made`() throws {
        let home = try ManifestHome()
        try home.write("secrets:\n  - {name: a, generate: {lenght: 3}}")
        for command in ["plan", "apply"] {
            let result = try home.keyfob([command, home.path("site.yaml")])
            #expect(result.status == 2)
            #expect(result.error.contains("site.yaml:5:26: unknown key \"lenght\" — did you mean \"length\"?"), "\(result.error)")
        }
        #expect(try home.keyfob(["manifest", "validate", home.path("site.yaml")]).status == 2)
        #expect(!FileManager.default.fileExists(atPath: home.home.data))
    }

    @Test func `the documents of plan and apply have an action for each entry`() throws {
        let home = try ManifestHome()
        try home.write("secrets: [{name: a, generate: {}}]")
        #expect(try home.entries() == ["create keychain site", "create secret a"])
        let applied = try home.home.document(["apply", home.path("site.yaml")])
        #expect(applied["action"] as? String == "create")
        #expect(applied["changed"] as? Bool == true)
        let again = try home.home.document(["apply", home.path("site.yaml")])
        #expect(again["action"] as? String == "none")
        #expect(again["changed"] as? Bool == false)
    }
}
