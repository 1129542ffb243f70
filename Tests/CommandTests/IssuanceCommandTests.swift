import Foundation
import TestSupport
import Testing

@testable import KeyfobCLI

@Suite struct IssuanceCommandTests {
    @Test func `transcript 4: key, request, certificate, identity`() throws {
        let home = try IdentityHome()
        try home.makeAuthority()
        let generated = try home.keyfob("key", "generate", "api", "--type", "ec", "--curve", "p256")
        #expect(generated.output == "Generated \"api\" on \"login\": EC P-256, sign, derive, not extractable.\n")
        let request = try home.keyfob(
            "key", "csr", "api", "--cn", "api.example.org", "--dns", "api.example.org", "--usage", "server", "-o",
            home.file("api.csr"))
        #expect(request.output == "Wrote api.csr (ECDSA SHA-256).\n")
        let text = try home.shell("openssl req -in api.csr -noout -verify -text 2>&1")
        #expect(text.contains("verify OK") && text.contains("DNS:api.example.org"))
        #expect(text.contains("TLS Web Server Authentication"))
        try home.shell("./sign < api.csr > both.pem; openssl x509 -in both.pem -out api.crt; cat r10.pem root.pem > chain.pem")
        let installed = try home.keyfob(
            "identity", "install", "api", "--cert", home.file("api.crt"), "--chain", home.file("chain.pem"))
        let day = try home.shell("date -u -d \"$(openssl x509 -in api.crt -noout -enddate | cut -d= -f2)\" +%F")
            .trimmingCharacters(in: .newlines)
        #expect(
            installed.output == """
                api.crt matches key "api". Chain without its root (1 intermediate). Valid until \(day).
                Its root Root was not stored. To trust it, put it into a separate file: keyfob trust add FILE
                Identity "api" is ready.

                """)
        #expect(
            try home.keyfob("identity", "install", "api", "--cert", home.file("both.pem")).output
                == "Unchanged: identity \"api\" already has this certificate.\n")
        let check = try home.keyfob("identity", "check", "api")
        #expect(check.status == 0 && check.output.contains("ok  signed a test challenge"))

        // The certificate of another key.
        try home.makeSelfSigned("other")
        let refused = try home.keyfob("identity", "install", "api", "--cert", home.file("other.pem"))
        #expect(refused.status == 11)
        #expect(refused.error.hasPrefix("keyfob: other.pem was not issued for key \"api\": public keys differ.\n"))
        #expect(refused.error.contains("That key is not in the keychain either.\n"))
        let code = try home.keyfob("identity", "install", "api", "--cert", home.file("other.pem"), "--json")
        #expect(try IdentityHome.code(code) == "identity.mismatch" && code.output.isEmpty)
        let missing = try home.keyfob("identity", "install", "apo", "--cert", home.file("api.crt"), "--json")
        #expect(missing.status == 3)
    }

    @Test func `an installed chain is complete if the keychain has all of it except a file's root`() throws {
        let home = try IdentityHome()
        try home.makeAuthority()
        try home.shell("cat r10.pem root.pem > chain.pem")
        func install(_ name: String, _ more: String...) throws -> Tool.Result {
            try Tool.keyfob(
                ["identity", "install", name, "--cert", home.file(name + ".crt")] + more, environment: home.environment
            ).run()
        }
        for name in ["a", "b", "c"] {
            try #require(home.keyfob("key", "generate", name).status == 0)
            try #require(home.keyfob("key", "csr", name, "--cn", name, "-o", home.file(name + ".csr")).status == 0)
            try home.shell("./sign < \(name).csr > \(name).both; openssl x509 -in \(name).both -out \(name).crt")
        }
        // Issued by the root itself, which is in the file.
        try home.shell(
            "openssl x509 -req -in c.csr -CA root.pem -CAkey root.key -CAcreateserial -days 9 -out c.crt 2>/dev/null")
        let below = try install("c", "--chain", home.file("root.pem")).output
        #expect(below.contains("Chain without its root (0 intermediates).") && below.contains("Its root Root was not"))

        let document = try IdentityHome.json(install("a", "--chain", home.file("chain.pem"), "--json"))
        #expect(document["root_left_out"] as? Bool == true && document["chain_complete"] as? Bool == false)
        #expect(document["chain_length"] as? Int == 2)
        #expect(try home.keyfob("trust", "ls", "--format", "tsv").output.isEmpty)
        #expect(try home.keyfob("cert", "show", "Root").status == 3)
        // The hint completes it, for this command and the others.
        #expect(try home.keyfob("trust", "add", home.file("root.pem")).status == 0)
        let complete = try install("b", "--chain", home.file("chain.pem"))
        #expect(complete.output.contains("Chain complete (1 intermediate).") && !complete.output.contains("not stored"))
        let again = try IdentityHome.json(install("b", "--chain", home.file("chain.pem"), "--json"))
        #expect(again["root_left_out"] as? Bool == false && again["chain_complete"] as? Bool == true)
        for name in ["a", "b", "c"] {
            #expect(try home.keyfob("cert", "chain", name).status == 0)
            #expect(try home.keyfob("identity", "check", name).output.contains("ok  trusted by the keychain"), "\(name)")
        }
    }

    @Test func `the certificate for the key is installed from any position of a file`() throws {
        let home = try IdentityHome()
        try home.makeAuthority()
        try home.makeSelfSigned("other")
        for name in ["api", "late"] {
            try #require(home.keyfob("key", "generate", name).status == 0)
            try #require(home.keyfob("key", "csr", name, "--cn", name, "-o", home.file(name + ".csr")).status == 0)
            try home.shell("./sign < \(name).csr > \(name).both; openssl x509 -in \(name).both -out \(name).crt")
        }
        try home.shell("cat other.pem late.crt r10.pem api.crt > all.pem; cat other.pem r10.pem > none.pem")
        // A certificate for none of its keys is refused as before.
        let refused = try home.keyfob("identity", "install", "api", "--cert", home.file("none.pem"))
        #expect(refused.status == 11 && refused.error.contains("was not issued for key \"api\""), "\(refused.error)")
        let planned = try IdentityHome.json(
            home.keyfob("identity", "install", "api", "--cert", home.file("all.pem"), "--dry-run", "--json"))
        #expect(planned["subject"] as? String == "CN=api")
        for name in ["api", "late"] {
            let installed = try home.keyfob("identity", "install", name, "--cert", home.file("all.pem"), "--json")
            let document = try IdentityHome.json(installed)
            #expect(document["subject"] as? String == "CN=\(name)" && document["chain_length"] as? Int == 2)
        }
        #expect(try home.keyfob("identity", "check", "api").status == 0)
        // Other certificates of the file that are not above it are not stored.
        #expect(try home.keyfob("cert", "show", "other").status == 3)
    }

    @Test(arguments: [
        (["--type", "rsa", "--size", "2048"], ["--pss"], "RSA-PSS SHA-256"),
        (["--type", "rsa", "--size", "2048"], ["--hash", "sha512"], "RSA SHA-512"),
        (["--type", "ec", "--curve", "p384"], [], "ECDSA SHA-384"),
        (["--type", "ed25519"], [], "Ed25519"),
    ])
    func `a request names its signature, and openssl verifies it`(
        _ key: [String], _ options: [String], _ name: String
    ) throws {
        let home = try IdentityHome()
        #expect(try Tool.keyfob(["key", "generate", "k"] + key, environment: home.environment).run().status == 0)
        let all = ["key", "csr", "k", "--cn", "k", "--dns", "k.example", "--ip", "192.0.2.7", "--ip", "2001:db8::7", "--email", "ops@k.example", "--uri", "urn:k",
            "--other-name", "1.3.6.1.4.1.311.20.2.3:k@k.example", "-o", home.file("k.csr"), "--json"] + options
        let document = try IdentityHome.json(Tool.keyfob(all, environment: home.environment).run())
        #expect(document["signature"] as? String == name)
        #expect((document["names"] as? [String])?.count == 6)
        let text = try home.shell("openssl req -in k.csr -noout -verify -text 2>&1")
        #expect(text.contains("verify OK"))
        for name in [
            "DNS:k.example", "IP Address:192.0.2.7", "IP Address:2001:DB8:0:0:0:0:0:7", "email:ops@k.example", "URI:urn:k",
            "othername: UPN::k@k.example",
        ] { #expect(text.contains(name), "\(name)") }
    }

    @Test func `documents of one identity agree in every command`() throws {
        let home = try IdentityHome()
        func document(_ arguments: [String]) throws -> [String: Any] {
            try IdentityHome.json(Tool.keyfob(arguments + ["--json"], environment: home.environment).run())
        }
        let root = [
            "identity", "create", "root", "--cn", "Root", "--authority", "--self-signed", "--lifetime", "10y",
        ]
        #expect(try Tool.keyfob(root, environment: home.environment).run().status == 0)
        let create = ["identity", "create", "web", "--cn", "web", "--issuer", "root", "--lifetime", "30d"]
        let planned = try document(create + ["--dry-run"])
        #expect(planned["issuer_policy"] as? String == "root" && planned["issuer"] is NSNull)
        #expect(try document(create)["issuer_policy"] as? String == "root")
        for arguments in [["cert", "export", "web"], ["cert", "export", "web", "--chain"], ["identity", "show", "web"]] {
            #expect(try document(arguments)["chain_complete"] as? Bool == true, "\(arguments)")
        }
        let bare = try document(["cert", "export", "web"])["certificates"] as? [Any]
        #expect(bare?.count == 1)
        _ = try document(["identity", "renew", "web", "--force", "--new-key"])
        let all = try #require(try document(["identity", "ls"])["identities"] as? [[String: Any]])
        let kept = try #require(all.first { $0["state"] as? String == "replaced" }?["name"] as? String)
        for arguments in [["identity", "show", kept], ["cert", "show", kept], ["identity", "use", kept, "--dry-run"]] {
            #expect(try document(arguments)["state"] as? String == "replaced", "\(arguments)")
        }
        for arguments in [["keychain", "show"], ["status"], ["identity", "show", "web"], ["key", "ls"]] {
            #expect(try document(arguments)["token"] as? String == "login", "\(arguments)")
        }
        let made = try document(["keychain", "create", "other", "--unattended"])
        #expect(made["token"] as? String == "other" && made["token_new"] as? Bool == true)
        for document in [made, try document(["keychain", "show", "other"]), try document(["status", "-k", "other"])] {
            #expect((document["token_uri"] as? String)?.hasPrefix("pkcs11:") == true, "\(document)")
        }
        #expect(try document(["status"])["damaged_keychains"] is [Any])
    }

    @Test func `an authority of the keychain issues and renews, and its versions change`() throws {
        let home = try IdentityHome()
        let root = try home.keyfob(
            "identity", "create", "root", "--cn", "Root", "--authority", "--self-signed", "--lifetime", "10y")
        #expect(root.status == 0 && root.output.hasSuffix("Identity \"root\" is ready.\n"), "\(root.error)")
        let web = try IdentityHome.json(
            home.keyfob(
                "identity", "create", "web", "--cn", "www.example.org", "--dns", "www.example.org", "--issuer", "root",
                "--lifetime", "30d", "--json"))
        #expect(web["name"] as? String == "web" && web["issuer"] as? String == "CN=Root")
        #expect(web["issuer_policy"] as? String == "root" && web["chain_complete"] as? Bool == true)
        let again = try home.keyfob("identity", "create", "web", "--cn", "x", "--issuer", "root", "--json")
        #expect(again.status == 4)
        #expect(try IdentityHome.code(again) == "item.exists")
        #expect(
            try home.keyfob("identity", "create", "web", "--cn", "x", "--issuer", "root", "--if-missing").output
                .hasPrefix("Nothing to do: identity \"web\" exists.\n"))

        try home.shell("\(Tool.keyfob([]).path) cert export root -o ca.pem; \(Tool.keyfob([]).path) cert export web -o web.pem")
        #expect(
            try home.shell("openssl verify -x509_strict -CAfile ca.pem -purpose sslserver -verify_hostname www.example.org web.pem")
                == "web.pem: OK\n")

        let early = try home.keyfob("identity", "renew", "web")
        #expect(
            early.output == "Nothing to do: web is at 0% of its lifetime; renewal starts at 66% of the lifetime. Use --force to renew now.\n")
        let renewed = try home.keyfob(
            "identity", "renew", "web", "--force", "--new-key", "--exec", "echo done > \"$HOME/hooked\"; exit 0")
        let lines = renewed.output.split(separator: "\n")
        try #require(lines.count == 5, "\(renewed.output)\(renewed.error)")
        #expect(lines[0] == "web: 0% of its lifetime used, renewing (issuer: root, new key: yes)")
        #expect(lines[1].hasPrefix("  certificate valid until 20"))
        #expect(lines[2].hasPrefix("  installed; old certificate kept as web@20"))
        #expect(lines[3] == "  from now on, each renewal makes a new key; --same-key ends this")
        #expect(lines[4] == "  ran: echo done > \"$HOME/hooked\"; exit 0 (ok)")
        #expect(try home.shell("cat \"$HOME/hooked\"") == "done\n")
        let kept = String(lines[2].dropFirst("  installed; old certificate kept as ".count))
        let failing = try home.keyfob("identity", "renew", "web", "--force", "--exec", "exit 3", "--json")
        #expect(failing.status == 1 && failing.output.contains("\"hook_status\":3"))

        let list = try home.keyfob("identity", "ls").output
        #expect(list.contains("\n\(kept) ") && list.contains("\nweb "))
        let back = try home.keyfob("identity", "use", kept)
        #expect(back.output.hasPrefix("\"web\" is now the certificate of \(kept). The previous one is kept as web@20"))
        let preferred = try home.keyfob("identity", "use", "web", "--service", "https://example.org")
        #expect(preferred.output == "\"web\" is preferred for https://example.org.\n")
        let refused = try home.keyfob("identity", "retire", "nobody", "--json")
        #expect(refused.status == 3)
        let retired = try IdentityHome.json(home.keyfob("identity", "retire", "web", "--yes", "--json"))
        #expect((retired["retired"] as? [String])?.count == 2)
        #expect(try home.keyfob("identity", "ls", "--format", "tsv").output.split(separator: "\n").count == 3)
        #expect(try home.keyfob("identity", "check", "web").status == 0)
        #expect(try home.keyfob("identity", "retire", "web").output == "Nothing to do: \"web\" has no older version.\n")
    }

    @Test(arguments: [":", #"trap "" TERM"#])
    func `a signal that ends the command ends the issuer's command and its children`(first: String) throws {
        let home = try IdentityHome()
        let left = try home.shell(
            """
            printf '#!/bin/sh\\n\(first)\\nsleep 300 & echo "$$ $!" >pids.new; mv pids.new pids; wait\\n' >sign
            chmod 700 sign
            setsid '\(Tool.keyfob([]).path)' identity create web --dns web.example --issuer "exec:$PWD/sign" >log 2>&1 &
            command=$!
            until test -s pids; do kill -0 $command || { cat log; exit 1; }; sleep 0.02; done
            kill -TERM $command; wait $command || echo $?
            for attempt in $(seq 1200); do
                left=$(for pid in $(cat pids); do ps -o pid= -o stat= -p $pid; done | grep -v Z || true)
                test -n "$left" || exit 0
                sleep 0.05
            done
            echo "$left"; kill -KILL $(cat pids)
            """)
        #expect(left == "143\n")
    }

    @Test func `a lifetime beyond the authority's end is shortened and reported`() throws {
        let home = try IdentityHome()
        func create(_ words: String...) throws -> String {
            let made = try Tool.keyfob(["identity", "create"] + words, environment: home.environment).run()
            #expect(made.status == 0, "\(made.error)")
            return made.output
        }
        _ = try create("root", "--cn", "Root", "--authority", "--self-signed", "--lifetime", "20d")
        for (lifetime, isShorter) in [("10d", false), ("20d", false), ("40d", true)] {
            let output = try create("web" + lifetime, "--dns", "a.example", "--issuer", "root", "--lifetime", lifetime)
            #expect(output.contains("shorter lifetime than requested") == isShorter, "\(lifetime): \(output)")
        }
        #expect(try !create("web", "--dns", "a.example", "--issuer", "root").contains("shorter lifetime"))
    }

    @Test func `an authority for clients issues no server certificates`() throws {
        let home = try IdentityHome()
        try home.shell(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 30 \
                -subj /CN=Clients -addext extendedKeyUsage=clientAuth 2>openssl.log
            """)
        #expect(try home.keyfob("identity", "import", home.file("ca.key"), home.file("ca.pem"), "--name", "ca").status == 0)
        #expect(try home.keyfob("trust", "add", home.file("ca.pem")).status == 0)
        let server = try home.keyfob("identity", "create", "web", "--dns", "a.example", "--issuer", "ca")
        #expect(server.status == 2 && server.error.contains("Clients is not for serverAuth"), "\(server.error)")
        let client = try home.keyfob(
            "identity", "create", "backup", "--dns", "a.example", "--usage", "client", "--issuer", "ca")
        #expect(client.status == 0, "\(client.error)")
        #expect(try home.keyfob("identity", "check", "backup").status == 0)
    }

    @Test func `the words of an issuing command may be quoted, and no shell sees them`() throws {
        let home = try IdentityHome()
        try home.makeAuthority()
        try home.shell(
            """
            mkdir 'a b'
            printf '#!/bin/sh\nprintf "%%s\\n" "$@" > %s/words\nexec %s/sign\n' "$PWD" "$PWD" > 'a b/sign it'
            chmod +x 'a b/sign it'
            """)
        let program = home.file("a b/sign it")
        let made = try home.keyfob(
            "identity", "create", "web", "--dns", "web.example", "--issuer",
            #"exec:'\#(program)' --profile "web \"servers\"" a\ b '$HOME;' ''"#)
        #expect(made.status == 0, "\(made.error)")
        let words = "--profile\nweb \"servers\"\na b\n$HOME;\n\n"
        #expect(try home.shell("cat words; rm words") == words)
        // The words are stored as words.
        #expect(try home.keyfob("identity", "renew", "web", "--force").status == 0)
        #expect(try home.shell("cat words") == words)
        for open in ["exec:'sign", "exec:sign \"it", "exec:sign\\"] {
            let refused = try home.keyfob("identity", "create", "x", "--dns", "x.example", "--issuer", open)
            #expect(refused.status == 2 && refused.error.contains("ends inside quotes"), "\(refused.error)")
        }
    }

    @Test(arguments: [
        ("a b  c", ["a", "b", "c"]), (" a ", ["a"]), ("", []), ("''", [""]), ("a'b c'd", ["ab cd"]),
        (#"a"b 'c'"d"#, ["ab 'c'd"]), (#"'a"b\c'"#, [#"a"b\c"#]), (#""\a\"\\""#, [#"\a"\"#]), (#"a\ b\'"#, ["a b'"]),
        // A quotation mark counts even if another character combines with it.
        ("'a\u{301} '\u{301}b", ["a\u{301} \u{301}b"]),
        ("a\tb\nc", ["a", "b", "c"]), ("'", nil), (#"""#, nil), (#"a\"#, nil), (#""a\"#, nil),
    ])
    func `a command is split as a shell does`(text: String, words: [String]?) {
        #expect(CommandWords.split(text) == words)
    }

    @Test(arguments: [
        ["identity", "create", "x", "--cn", "x"], ["identity", "create", "x", "--self-signed"],
        ["identity", "create", "x", "--cn", "x", "--self-signed", "--issuer", "root"],
        ["identity", "create", "x", "--cn", "x", "--issuer", "acme:https://x"],
        ["identity", "create", "x", "--ip", "300.1.1.1", "--self-signed"],
        ["identity", "create", "x", "--subject", "web", "--self-signed"],
        ["identity", "create", "x", "--dns", "192.0.2.1", "--self-signed"],
        ["identity", "create", "x", "--dns", "::1", "--self-signed"],
        ["identity", "create", "x", "--dns", "a b", "--self-signed"],
        ["identity", "create", "x", "--cn", "x", "--usage", "time-stamping", "--usage", "server", "--self-signed"],
        ["identity", "create", "x@2026-01-01", "--cn", "x", "--self-signed"],
        ["identity", "create", "x", "--cn", "x", "--self-signed", "--lifetime", "0d"],
        ["identity", "create", "x", "--dns", "a..b", "--self-signed"],
        ["identity", "create", "x", "--dns", "*.*.example.org", "--self-signed"],
        ["identity", "create", "x", "--dns", "w*.example.org", "--self-signed"],
        ["identity", "create", "x", "--dns", "*", "--self-signed"],
        ["identity", "create", "x", "--dns", String(repeating: "a", count: 64) + ".org", "--self-signed"],
        ["identity", "create", "x", "--dns", String(repeating: "abc.", count: 64) + "org", "--self-signed"],
        ["identity", "create", "x", "--email", "nobody", "--self-signed"],
        ["identity", "create", "x", "--email", "a@", "--self-signed"],
        ["identity", "create", "x", "--email", "@b", "--self-signed"],
        ["identity", "create", "x", "--email", "a@@b", "--self-signed"],
        ["identity", "create", "x", "--subject", "CN=a;O=b", "--self-signed"],
        ["identity", "create", "x", "--subject", "CN=\\web", "--self-signed"],
        ["cert", "verify", "x", "--host", ""],
        ["identity", "renew"], ["identity", "renew", "x", "--all"], ["identity", "renew", "x", "--new-key", "--same-key"],
        ["trust", "add", "x", "--scope", "system", "--for", "server"], ["cert", "verify", "x", "--usage", "baking"],
        ["key", "csr", "lonely"],
    ])
    func `options that contradict are wrong usage`(_ arguments: [String]) throws {
        let home = try IdentityHome()
        if arguments.last == "lonely" { _ = try home.keyfob("key", "generate", "lonely") }
        let result = try Tool.keyfob(arguments, environment: home.environment).run()
        #expect(result.status == 2 && result.output.isEmpty, "\(result.error)")
        #expect(try home.keyfob("key", "ls", "--format", "tsv").output.split(separator: "\n").count < 3)
    }

    @Test(arguments: ["rsa", "ec"])
    func `a certificate for time-stamping has no other usage, and openssl accepts it`(_ key: String) throws {
        let home = try IdentityHome()
        let made = try home.keyfob(
            "identity", "create", "tsa", "--cn", "tsa", "--usage", "time-stamping", "--self-signed", "--key", key)
        try #require(made.status == 0, "\(made.error)")
        try home.shell("\(Tool.keyfob([]).path) cert export tsa -o tsa.pem")
        let usage = try home.shell("openssl x509 -in tsa.pem -noout -ext extendedKeyUsage")
        #expect(usage == "X509v3 Extended Key Usage: critical\n    Time Stamping\n")
        #expect(
            try home.shell("openssl verify -x509_strict -purpose timestampsign -CAfile tsa.pem tsa.pem") == "tsa.pem: OK\n")
    }

    @Test(arguments: [
        (["--cn", "web.example"], "DNS:web.example"), (["--cn", "192.0.2.7"], "IP Address:192.0.2.7"),
        (["--cn", "web.example", "--email", "a@b.example"], "DNS:web.example, email:a@b.example"),
        (["--cn", "web.example", "--uri", "urn:web"], "DNS:web.example, URI:urn:web"),
        (["--cn", "web.example", "--dns", "other.example"], "DNS:other.example"),
        (["--cn", "web.example", "--ip", "192.0.2.7"], "IP Address:192.0.2.7"),
        (["--cn", "web.example", "--email", "a@b.example", "--usage", "client"], "email:a@b.example"),
        (["--cn", "bücher.example"], "DNS:xn--bcher-kva.example"),
        (["--dns", "BÜCHER.example", "--dns", "*.bücher.example"], "DNS:xn--bcher-kva.example, DNS:*.xn--bcher-kva.example"),
        (["--cn", "web", "--dns", "a.example", "--email", "ops@bücher.example"], "DNS:a.example, email:ops@xn--bcher-kva.example"),
        // None of these names is a host.
        (["--cn", "web:primary", "--uri", "urn:a"], "URI:urn:a"), (["--cn", "Version 1.", "--uri", "urn:a"], "URI:urn:a"),
        (["--cn", "1.0.", "--uri", "urn:a"], "URI:urn:a"), (["--cn", "*", "--uri", "urn:a"], "URI:urn:a"),
    ])
    func `a host name given only as common name becomes a DNS name`(_ names: [String], _ text: String) throws {
        let home = try IdentityHome()
        let made = try Tool.keyfob(
            ["identity", "create", "web", "--self-signed"] + names, environment: home.environment).run()
        try #require(made.status == 0, "\(made.error)")
        try home.shell("\(Tool.keyfob([]).path) cert export web -o web.pem")
        #expect(
            try home.shell("openssl x509 -in web.pem -noout -ext subjectAltName | tail -n 1")
                .trimmingCharacters(in: .whitespacesAndNewlines) == text)
    }

    @Test(arguments: [["--dns", "web.example"], ["--ip", "192.0.2.7"], ["--dns", "*.example.org"], ["--email", "a@b.example"]])
    func `a self-signed certificate has an issuer, for any usage`(_ names: [String]) throws {
        let home = try IdentityHome()
        let made = try Tool.keyfob(
            ["identity", "create", "web", "--self-signed"] + names, environment: home.environment
        ).run()
        #expect(made.status == 0, "\(made.error)")
        try home.shell("\(Tool.keyfob([]).path) cert export web -o web.pem")
        // RFC 5280 4.1.2.4. A strict reader, such as Java, refuses an empty one.
        #expect(try home.shell("openssl verify -x509_strict -CAfile web.pem web.pem") == "web.pem: OK\n")
        #expect(try home.shell("openssl x509 -in web.pem -noout -issuer -nameopt multiline").contains(names[1]))
    }

    @Test(arguments: [["cert", "import"], ["trust", "add"], ["cert", "verify"], ["identity", "import"]])
    func `a file of another kind is not reported as damaged`(_ verb: [String]) throws {
        let home = try IdentityHome()
        let result = try Tool.keyfob(verb + ["/etc/passwd", "--json"], environment: home.environment).run()
        #expect(result.status == 9)
        #expect(try IdentityHome.code(result) == "format.unsupported")
        let directory = try Tool.keyfob(verb + ["/etc/", "--json"], environment: home.environment).run()
        #expect(try IdentityHome.code(directory) == "file.unavailable")
    }
}
