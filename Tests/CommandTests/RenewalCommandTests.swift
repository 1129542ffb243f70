import Foundation
import TestSupport
import Testing

@Suite struct RenewalCommandTests {
    @Test func `a command issues, all due identities are renewed, and a failure is reported`() throws {
        let home = try IdentityHome()
        try home.makeAuthority()
        let made = try home.keyfob(
            "identity", "create", "web", "--dns", "web.example", "--issuer", "exec:" + home.file("sign"), "--json")
        #expect(try IdentityHome.json(made)["issuer"] as? String == "CN=R10")
        #expect(
            try home.keyfob("identity", "create", "own", "--cn", "own", "--self-signed", "--lifetime", "90d").status == 0)
        let early = try home.keyfob("identity", "renew", "--all")
        #expect(early.status == 0 && early.output.isEmpty && early.error.isEmpty)
        // Signed again by the command's authority, not by the key itself.
        let forced = try IdentityHome.json(home.keyfob("identity", "renew", "--all", "--force", "--json"))
        let identities = try #require(forced["identities"] as? [[String: Any]])
        #expect(identities.compactMap { $0["issuer"] as? String } == ["CN=own", "CN=R10"])
        #expect(identities.allSatisfy { ($0["kept"] as? [String])?.count == 1 })

        try home.shell("printf '#!/bin/sh\\nexit 7\\n' > sign")
        let failed = try home.keyfob("identity", "renew", "web", "--force", "--json")
        #expect(failed.status == 1)
        #expect(try IdentityHome.code(failed) == "issuer.failed")
        let all = try home.keyfob("identity", "renew", "--all", "--force")
        #expect(all.status == 1 && all.output.contains("own: 0%") && all.error.contains("ended with status 7"))
    }

    @Test func `an issuer of another module is refused by its name until another one is given`() throws {
        let home = try IdentityHome()
        try #require(home.keyfob("identity", "create", "web", "--cn", "web", "--self-signed").status == 0)
        let child = Tool.products.appendingPathComponent("TestChild").path
        let set = try Tool(child, ["-", "-", "-", "issuer", "web"], environment: home.environment).run()
        try #require(set.output == "set\n", "\(set.error)")
        let renewed = try home.keyfob("identity", "renew", "web", "--force", "--json")
        #expect(try IdentityHome.code(renewed) == "argument.invalid", "\(renewed.error)")
        #expect(renewed.error.contains("est ca.example"), "\(renewed.error)")
        #expect(try home.keyfob("identity", "renew", "web", "--force", "--self-signed").status == 0)
        #expect(try home.keyfob("identity", "renew", "web", "--force").status == 0)
    }

    @Test func `each failure of a renewal of all is reported once, with the identity's name`() throws {
        let home = try IdentityHome()
        try home.makeAuthority()
        for name in ["a", "b"] {
            let made = try home.keyfob(
                "identity", "create", name, "--dns", "web.example", "--issuer", "exec:" + home.file("sign"))
            try #require(made.status == 0, "\(made.error)")
        }
        try #require(home.keyfob("identity", "create", "own", "--cn", "own", "--self-signed").status == 0)
        try home.shell("printf '#!/bin/sh\\nexit 7\\n' > sign")
        let text = try home.keyfob("identity", "renew", "--all", "--force")
        let lines = text.error.split(separator: "\n").filter { $0.hasPrefix("keyfob: ") }
        try #require(text.status == 1 && lines.count == 3, "\(text.error)")
        for (line, name) in zip(lines, ["a", "b"]) {
            #expect(line.hasPrefix("keyfob: identity \"\(name)\": the command \"") && line.hasSuffix(" with status 7."))
        }
        #expect(lines[2] == "keyfob: 2 of 3 identities could not be renewed.")
        let document = try home.keyfob("identity", "renew", "--all", "--force", "--json")
        #expect(try document.status == 1 && IdentityHome.code(document) == "issuer.failed", "\(document.error)")
        let object = try JSONSerialization.jsonObject(with: Data(document.output.utf8)) as? [String: Any]
        let failures = try #require(object?["failures"] as? [[String: Any]])
        #expect(failures.map { ($0["details"] as? [String: String])?["name"] } == ["a", "b"])
        #expect(failures.allSatisfy { $0["code"] as? String == "issuer.failed" })
        #expect((object?["identities"] as? [Any])?.count == 1)
        #expect(object?["hook_failure"] is NSNull)
        // In addition the command after the renewal may fail, and standard error has one error.
        let both = try home.keyfob("identity", "renew", "--all", "--force", "--json", "--exec", "exit 3")
        #expect(try both.status == 1 && IdentityHome.code(both) == "issuer.failed", "\(both.error)")
        let told = try JSONSerialization.jsonObject(with: Data(both.output.utf8)) as? [String: Any]
        let hook = try #require(told?["hook_failure"] as? [String: Any], "\(both.output)")
        #expect((hook["message"] as? String)?.hasSuffix("ended with status 3.") == true)
        #expect((hook["hint"] as? String)?.contains("The next renew with --exec runs it again") == true)
    }

    @Test func `an authority is renewed before its identities, with any names`() throws {
        let home = try IdentityHome()
        for words in [
            ["z root", "--self-signed", "--authority"], ["m", "--issuer", "z root", "--authority"],
            ["a", "--issuer", "m"], ["b", "--self-signed"],
        ] {
            let made = try Tool.keyfob(
                ["identity", "create", "--cn", words[0] + ".example"] + words, environment: home.environment).run()
            try #require(made.status == 0, "\(made.error)")
        }
        let renewed = try IdentityHome.json(home.keyfob("identity", "renew", "--all", "--force", "--json"))
        let identities = try #require(renewed["identities"] as? [[String: Any]])
        #expect(identities.map { $0["name"] as? String } == ["b", "z root", "m", "a"])
    }

    @Test func `a key that older versions of a removed identity have is reported as theirs`() throws {
        let home = try IdentityHome()
        let create = ["identity", "create", "web", "--dns", "web.example", "--self-signed"]
        try #require(Tool.keyfob(create, environment: home.environment).run().status == 0)
        try #require(home.keyfob("identity", "renew", "web", "--force", "--same-key").status == 0)
        try #require(home.keyfob("identity", "rm", "web", "--yes").status == 0)
        let refused = try Tool.keyfob(create, environment: home.environment).run()
        #expect(refused.status == 4 && refused.error.contains("older versions of the identity have it"), "\(refused.error)")
        #expect(refused.error.contains("keyfob identity retire web\n"), "\(refused.error)")
        #expect(try home.keyfob("identity", "retire", "web", "--yes").status == 0)
        #expect(try Tool.keyfob(create, environment: home.environment).run().status == 0)
    }

    @Test(arguments: ["--self-signed", "--issuer=root", "--issuer=exec:"], ["--same-key", "--new-key"])
    func `every issuer renews, with the same key and with a new one`(issuer: String, key: String) throws {
        let home = try IdentityHome()
        try home.makeAuthority()
        #expect(try home.keyfob("identity", "create", "root", "--cn", "Own", "--authority", "--self-signed").status == 0)
        let option = issuer.hasSuffix(":") ? issuer + home.file("sign") : issuer
        let names = ["--dns", "web.example", "--ip", "192.0.2.7", "--uri", "urn:web", "--email", "ops@web.example"]
        let made = try Tool.keyfob(["identity", "create", "web", option] + names, environment: home.environment).run()
        #expect(made.status == 0, "\(made.error)")
        func export(_ file: String) throws -> (key: String, names: String) {
            #expect(try home.keyfob("cert", "export", "web", "-o", home.file(file)).status == 0)
            return (
                try home.shell("openssl x509 -in \(file) -noout -pubkey"),
                try home.shell("openssl x509 -in \(file) -noout -ext subjectAltName"))
        }
        let before = try export("before.pem")
        for name in ["DNS:web.example", "IP Address:192.0.2.7", "URI:urn:web", "email:ops@web.example"] {
            #expect(before.names.contains(name), "\(before.names)")
        }
        let renewed = try home.keyfob("identity", "renew", "web", "--force", key)
        #expect(renewed.status == 0 && renewed.output.contains("new key: \(key == "--new-key" ? "yes" : "no")"), "\(renewed.error)")
        let after = try export("after.pem")
        #expect((before.key == after.key) == (key == "--same-key") && before.names == after.names)
        #expect(try home.keyfob("identity", "check", "web").status == 0)
        // The choice of key is stored.
        let again = try home.keyfob("identity", "renew", "web", "--force")
        #expect(again.output.contains("new key: \(key == "--new-key" ? "yes" : "no")"))
        #expect(renewed.output.contains("from now on") == (key == "--new-key") && !again.output.contains("from now on"))
    }

    @Test func `from cron and systemd, a sealed keychain is renewed with its credential alone`() throws {
        let home = try IdentityHome()
        let base = ["HOME": home.file("run"), "XDG_RUNTIME_DIR": home.file("run")]
        let pass = try home.directory.write(Array("opensesame\n".utf8), to: "keyfob.pin")
        func run(_ words: String..., with more: [String: String] = [:]) throws -> Tool.Result {
            // Neither a terminal nor an input, as cron and systemd start programs.
            try Tool(
                "/usr/bin/setsid", ["--wait", Tool.keyfob([]).path] + words, environment: base.merging(more) { $1 }
            ).run()
        }
        try #require(try run("init", "--pin-source", "env:PASS", with: ["PASS": "opensesame"]).status == 0)
        let issuer = ["identity", "create", "web", "--dns", "web.example", "--self-signed"]
        try #require(
            try Tool.keyfob(issuer, environment: base).run().status == 0)
        #expect(try run("lock").status == 0)
        let without = try run("identity", "renew", "--all", "--force", "--json")
        #expect(without.status == 6)
        #expect(try IdentityHome.code(without) == "pin.required")
        let hook = "echo reloaded >> \(home.file("hooked")); test -z \"$KEYFOB_PIN_SOURCE\""
        for more in [["CREDENTIALS_DIRECTORY": home.file(".")], ["KEYFOB_PIN_SOURCE": "file:" + pass]] {
            let renewed = try run("identity", "renew", "--all", "--force", "--exec", hook, with: more)
            #expect(renewed.status == 0 && renewed.output.contains("installed; old certificate kept as web@"), "\(renewed.error)")
        }
        #expect(try home.shell("cat hooked") == "reloaded\nreloaded\n")
        let list = try run("identity", "ls", "--format", "tsv", with: ["KEYFOB_PIN_SOURCE": "file:" + pass])
        #expect(list.output.split(separator: "\n").filter { $0.contains("replaced") }.count == 2)
    }
}
