import Foundation
import TestSupport
import Testing

@testable import KeyfobCLI

@Suite struct TrustCommandTests {
    @Test(arguments: ["web.p12", "web.der"]) func `an intact file that is not a certificate is not reported as damaged`(
        file: String
    ) throws {
        let home = try IdentityHome()
        try home.makeWeb()
        try home.shell("openssl pkey -in web.key -outform der -out web.der")
        let result = try home.keyfob("trust", "add", home.file(file), "--scope", "user")
        #expect(result.status == 9, "\(result.error)")
        #expect(result.error.contains("cannot be used: it is PKCS#12 or a private key, not a certificate"), "\(result.error)")
    }

    @Test func `trust decides the result of a verification`() throws {
        let home = try IdentityHome()
        try home.makeWeb()
        #expect(
            try home.keyfob(
                "identity", "import", home.file("web.p12"), "--name", "web", "--pass-source",
                "file:" + home.file("pass")
            ).status == 0)
        let before = try home.keyfob("cert", "verify", "web", "--json")
        #expect(before.status == 11 && before.output.isEmpty)
        #expect(try IdentityHome.code(before) == "cert.chain_incomplete")
        let unknown = try home.keyfob("cert", "chain", "web")
        #expect(unknown.status == 11 && unknown.output.contains("R10"))
        #expect(unknown.error.contains("keyfob: no issuer certificate for \"R10\" (issuer CN=Root).\n"))

        let added = try home.keyfob("trust", "add", home.file("root.pem"), "--for", "server", "--name", "corp")
        #expect(added.output == "\"login\" now trusts \"Root\" for server.\n", "\(added.error)")
        let verified = try home.keyfob("cert", "verify", "web", "--usage", "server", "--host", "www.example.org")
        #expect(verified.output == "ok  www.example.org <- R10 <- Root (trusted by the keychain)\n")
        let chain = try home.keyfob("cert", "chain", "web")
        #expect(chain.status == 0 && chain.output.contains("in the keychain, trusted by the keychain"))
        let whole = try IdentityHome.json(home.keyfob("cert", "chain", "web", "--json"))
        #expect(whole["chain_complete"] as? Bool == true && (whole["chain"] as? [Any])?.count == 3)
        #expect(
            try home.keyfob("trust", "ls").output.split(separator: "\n").map { $0.split(separator: " ").first } == [
                "NAME", "corp",
            ])
        #expect(try home.keyfob("trust", "export").output == (try home.shell("cat root.pem")))
        #expect(try home.keyfob("trust", "export", "--format", "pem").output == (try home.shell("cat root.pem")))

        let rows: [([String], String)] = [
            (["--host", "other.example"], "cert.host_mismatch"), (["--usage", "client"], "cert.wrong_usage"),
            (["--at", "2199-01-01"], "cert.expired"), (["--at", "1999-01-01"], "cert.not_yet_valid"),
            (["--no-keychain"], "cert.untrusted"),
        ]
        for (options, code) in rows {
            let result = try Tool.keyfob(
                ["cert", "verify", "web", "--json"] + options, environment: home.environment).run()
            #expect(result.status == 11)
            #expect(try IdentityHome.code(result) == code, "\(options)")
        }
        // The option sets the time, not a clock.
        for (moment, text) in [("2199-01-01", ", before 2199-01-01"), ("1999-01-01", ", and not yet at 1999-01-01")] {
            let told = try home.keyfob("cert", "verify", "web", "--at", moment)
            #expect(told.error.contains(text) && !told.error.contains("clock"), "\(told.error)")
            #expect(!told.error.contains("days ago"), "\(told.error)")
        }
        let given = try home.keyfob(
            "cert", "verify", home.file("web.pem"), "--untrusted", home.file("r10.pem"), "--ca", home.file("root.pem"),
            "--no-keychain", "--no-system")
        #expect(given.output == "ok  www.example.org <- R10 <- Root (trusted in this command)\n")

        #expect(
            try home.keyfob("trust", "rm", "corp").output == "No longer trusted: \"corp\". The certificate stays.\n")
        #expect(try home.keyfob("trust", "rm", "corp").status == 3)
        for name in ["corp", "nobody"] {
            let again = try home.keyfob("trust", "rm", name, "--if-exists")
            #expect(again.status == 0 && again.output.hasPrefix("Nothing to do"), "\(again.error)")
        }
        #expect(try home.keyfob("cert", "verify", "web").status == 11)
    }

    @Test func `the first anchor in the chain is the one reported as trusted`() throws {
        let home = try IdentityHome()
        try home.makeWeb()
        let web = home.file("web.pem")
        let given = try home.keyfob("cert", "verify", web, "--ca", web, "--untrusted", home.file("above.pem"), "--json")
        #expect(given.status == 0, "\(given.error)")
        #expect(given.output.contains("\"origin\":\"given\""))
        #expect(given.output.components(separatedBy: "\"subject\"").count == 2)
        #expect(try home.keyfob("cert", "import", home.file("above.pem")).status == 0)
        #expect(try home.keyfob("trust", "add", web, "--name", "web", "--yes").status == 0)
        #expect(try home.keyfob("cert", "verify", "web").output == "ok  www.example.org (trusted by the keychain)\n")
        let chain = try home.keyfob("cert", "chain", "web")
        #expect(chain.output.contains("trusted by the keychain") && !chain.output.contains("system"), "\(chain.output)")
    }

    @Test func `trust for one more use removes no other`() throws {
        let home = try IdentityHome()
        try home.makeWeb()
        let root = home.file("root.pem")
        #expect(try home.keyfob("trust", "add", root, "--for", "client").status == 0)
        #expect(try home.keyfob("trust", "add", root, "--for", "server").output.contains("for client, server"))
        #expect(try home.keyfob("trust", "add", root).output.contains("for all uses"))
        let less = try home.keyfob("trust", "add", root, "--for", "email").output
        #expect(less.contains("for all uses, as before."))
        // The hint is the command to type.
        let hint = try #require(less.firstRange(of: "keyfob trust rm ")?.upperBound)
        let name = less[hint...].trimmingCharacters(in: .newlines)
        #expect(try home.keyfob("trust", "rm", name, "--dry-run").output.hasPrefix("Would no longer trust"), "\(less)")
        #expect(try home.keyfob("trust", "rm", root).status == 0)
        #expect(try home.keyfob("trust", "add", root, "--for", "email").output.contains("for email."))
        let renamed = try home.keyfob("trust", "add", root, "--name", "other")
        #expect(
            renamed.output.hasSuffix("It was already stored as \"Root\" and keeps that name.\n"), "\(renamed.output)")
    }

    @Test func `a name means an item before it means a file`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("item", commonName: "the-item")
        try home.makeSelfSigned("file", commonName: "the-file")
        #expect(try home.keyfob("cert", "import", home.file("item.pem"), "--name", "web").status == 0)
        let environment = ["KEYFOB": Tool.keyfob([]).path]
        #expect(
            try home.shell("cp file.pem web; \"$KEYFOB\" trust add web", environment: environment).contains("the-item"))
        let file = try home.shell("\"$KEYFOB\" cert verify ./web 2>&1 || true", environment: environment)
        #expect(file.contains("signed itself"), "\(file)")
        #expect(try home.shell("\"$KEYFOB\" cert verify web", environment: environment).contains("the-item"))
        // Without such an item the name means the file.
        #expect(try home.shell("\"$KEYFOB\" trust add file.pem", environment: environment).contains("the-file"))
    }

    @Test func `the verification of a self-signed item says how to trust it`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("ca")
        try #require(home.keyfob("cert", "import", home.file("ca.pem"), "--name", "my ca").status == 0)
        let refused = try home.keyfob("cert", "verify", "my ca")
        #expect(refused.status == 11, "\(refused.output)")
        let remedy = try #require(refused.error.firstMatch(of: /If you do: keyfob (.*)\n/)).1
        #expect(remedy == "trust add 'my ca' --scope user", "\(refused.error)")
        try home.shell("'\(Tool.keyfob([]).path)' \(remedy)")
        #expect(try home.keyfob("cert", "verify", "my ca").status == 0)
        let file = try home.keyfob("cert", "verify", home.file("ca.pem"), "--no-keychain")
        #expect(file.error.contains("keyfob trust add FILE "), "\(file.error)")

        // A name that the command would read as a path.
        try home.makeSelfSigned("other")
        try #require(home.keyfob("cert", "import", home.file("other.pem"), "--name", "svc/ca").status == 0)
        let print = try home.shell("openssl x509 -in other.pem -noout -fingerprint -sha256 | cut -d = -f 2 | tr -d :")
        let mark = "sha256:" + print.trimmingCharacters(in: .whitespacesAndNewlines).lowercased()
        let slashed = try home.keyfob("cert", "verify", mark)
        let way = try #require(slashed.error.firstMatch(of: /If you do: keyfob (.*)\n/)).1
        try home.shell("'\(Tool.keyfob([]).path)' \(way)")
        #expect(try home.keyfob("cert", "verify", mark).status == 0)
    }

    @Test func `an incomplete chain is shown as far as it goes, and an unreadable issuer is an error`() throws {
        let home = try IdentityHome()
        try home.shell("mkdir www; echo '<html>moved</html>' >www/ca.der")
        let (server, port) = try home.serve("www")
        // Not SIGTERM, which threads of this process may have blocked; their children inherit that.
        defer { kill(server.processIdentifier, SIGKILL) }
        try home.makeWeb()
        try home.shell(
            """
            printf 'authorityInfoAccess=caIssuers;URI:http://127.0.0.1:\(port)/ca.der\\n' >more
            openssl x509 -req -in web.csr -CA r10.pem -CAkey r10.key -CAcreateserial -days 9 -extfile more -out aia.pem 2>/dev/null
            printf 'authorityInfoAccess=caIssuers;URI:http://127.0.0.1:\(port)/none.der\\n' >more
            openssl x509 -req -in web.csr -CA r10.pem -CAkey r10.key -CAcreateserial -days 9 -extfile more -out no.pem 2>/dev/null
            """)
        #expect(try home.keyfob("cert", "import", home.file("aia.pem"), "--name", "aia").status == 0)
        #expect(try home.keyfob("cert", "import", home.file("no.pem"), "--name", "no").status == 0)
        // A hint never proposes the command that has just failed.
        let vain = try home.keyfob("cert", "chain", "no", "--fetch")
        #expect(vain.status == 11 && !vain.error.contains("--fetch"), "\(vain.error)")
        let incomplete = try home.keyfob("cert", "chain", "aia", "--json")
        #expect(incomplete.status == 11)
        #expect(try IdentityHome.code(incomplete) == "cert.chain_incomplete")
        let document = try #require(
            try JSONSerialization.jsonObject(with: Data(incomplete.output.utf8)) as? [String: Any])
        #expect(document["chain_complete"] as? Bool == false && document["trusted"] as? Bool == false)
        let chain = document["chain"] as? [[String: Any]] ?? []
        #expect(chain.compactMap { $0["common_name"] as? String } == ["www.example.org"], "\(incomplete.output)")
        // The same rows as in the other forms.
        let rows = try home.keyfob("cert", "chain", "aia", "--format", "tsv")
        #expect(rows.status == 11 && rows.output.split(separator: "\n").count == 2, "\(rows)")
        let fetched = try home.keyfob("cert", "chain", "aia", "--fetch")
        #expect(fetched.status == 1)
        #expect(fetched.error.contains("http://127.0.0.1:\(port)/ca.der answered with"), "\(fetched.error)")
    }

    @Test func `only the first few addresses in a certificate are asked, within the time limit`() throws {
        let home = try IdentityHome()
        try home.makeWeb()
        try home.shell(
            """
            { printf 'authorityInfoAccess=caIssuers;URI:ldap://127.0.0.1/ca'
            for number in $(seq 40); do printf ',caIssuers;URI:http://127.0.0.1:1/%s' $number; done; } >more
            openssl x509 -req -in web.csr -CA r10.pem -CAkey r10.key -CAcreateserial -days 9 -extfile more \
                -out aia.pem 2>/dev/null
            """)
        try home.interposeCurl(
            """
            echo "${url##*/}" >> asked
            printf '%s\\n' "$@" | grep -x -A 1 -e --max-time | tail -n 1 >> limits
            exec /usr/bin/curl "$@"
            """)
        let environment = home.environment.merging(["PATH": home.file("bin") + ":/usr/bin:/bin"]) { $1 }
        let fetched = try Tool.keyfob(
            ["cert", "chain", home.file("aia.pem"), "--fetch", "--timeout", "50", "--json"], environment: environment
        ).run()
        #expect(try fetched.status == 1 && IdentityHome.code(fetched) == "issuer.failed", "\(fetched)")
        #expect(try home.shell("cat asked") == "1\n2\n3\n4\n")
        // Curl's own, in seconds; without the option it has 55.
        let limits = try home.shell("cat limits").split(separator: "\n").compactMap { Double($0) }
        #expect(limits.count == 4 && limits.allSatisfy { $0 > 0 && $0 < 50.1 }, "\(limits)")
    }

    @Test func `a certificate without its key has no URI of a private key`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("web")
        #expect(try home.keyfob("cert", "import", home.file("web.pem"), "--name", "web").status == 0)
        #expect(try home.keyfob("uri", "web").output.contains("type=cert"))
        #expect(try home.keyfob("uri", "web", "--type", "private").status == 3)
        let program = try home.keyfob("uri", "web", "--for", "nginx")
        #expect(program.status == 3 && program.error.contains("has no private key"), "\(program.error)")
    }

    @Test func `a key without its private half is reported as such, and not as one without a certificate`() throws {
        let home = try IdentityHome()
        #expect(try home.keyfob("identity", "create", "web", "--dns", "web.example", "--self-signed").status == 0)
        try home.shell(
            """
            eval "$("$KEYFOB" uri --env)"
            pkcs11-tool --module "$PKCS11_MODULE_PATH" --token-label login --login \
                --pin "$(cat home/.local/share/keyfob/keychains/*/pin)" --delete-object --type privkey --label web >&2
            """, environment: ["KEYFOB": Tool.keyfob([]).path])
        for program in ["nginx", "ssh"] {
            let told = try home.keyfob("uri", "web", "--for", program)
            #expect(told.status == 3 && told.error.contains("only the public half"), "\(told.error)")
        }
    }

    @Test func `a check of an identity reports which anchor it leads to`() throws {
        let home = try IdentityHome()
        try home.makeWeb()
        try home.makeSelfSigned("own")
        #expect(
            try home.keyfob(
                "identity", "import", home.file("web.p12"), "--name", "web", "--pass-source",
                "file:" + home.file("pass")
            ).status == 0)
        #expect(
            try home.keyfob("identity", "import", home.file("own.key"), home.file("own.pem"), "--name", "own").status == 0)
        func check(_ name: String) throws -> (status: Int32, trusted: Bool?, trust: [String: Any]) {
            let result = try home.keyfob("identity", "check", name, "--json")
            let object = try #require(JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
            let findings = try #require(object["findings"] as? [[String: Any]])
            return (
                result.status, object["trusted"] as? Bool,
                try #require(findings.first { $0["name"] as? String == "trust" }, "\(result.output)"))
        }
        // An unknown authority: it works for programs that trust it.
        let stranger = try check("web")
        #expect(stranger.status == 0 && stranger.trusted == false && stranger.trust["state"] as? String == "warn")
        #expect(stranger.trust["reason"] as? String == "cert.chain_incomplete")
        #expect(try home.keyfob("identity", "check", "web", "--exit-code").status == 10)
        let text = try home.keyfob("identity", "check", "web").output
        // The root of another program that knows the chain; from here it may also be an intermediate.
        #expect(text.contains("warn  chain ends at R10, whose issuer Root is not here: the root, or an"), "\(text)")
        #expect(!text.contains("ok  chain") && text.contains("warn  its root is not known here"), "\(text)")
        try #require(home.keyfob("cert", "import", home.file("root.pem"), "--name", "my root").status == 0)
        let verified = try home.keyfob("cert", "verify", "web")
        #expect(verified.error.contains("If you do: keyfob trust add 'my root' --scope user\n"), "\(verified.error)")
        let known = try home.keyfob("identity", "check", "web").output
        #expect(known.contains("To trust it here: keyfob trust add 'my root'\n"), "\(known)")
        #expect(known.contains("ok  chain\nwarn  its root Root is trusted by neither system nor keychain"), "\(known)")
        try #require(home.keyfob("cert", "rm", "my root", "--yes").status == 0)
        let own = try check("own")
        #expect(own.status == 0 && own.trust["text"] as? String == "self-signed, and not trusted here")

        // A certificate trusted for clients is not trusted for a server.
        #expect(try home.keyfob("trust", "add", home.file("root.pem"), "--for", "client", "--name", "corp").status == 0)
        #expect(try check("web").trusted == false)
        #expect(try home.keyfob("trust", "add", home.file("root.pem"), "--for", "server", "--name", "corp").status == 0)
        let trusted = try check("web")
        #expect(trusted.status == 0 && trusted.trusted == true && trusted.trust["origin"] as? String == "keychain")
        #expect(try home.keyfob("identity", "check", "web").output.contains("ok  trusted by the keychain"))

        // An intermediate that may not issue: no verifier accepts it.
        try home.shell(
            """
            {
            openssl x509 -req -in r10.csr -CA root.pem -CAkey root.key -CAcreateserial -days 20 -out leafy.pem
            openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout bad.key -out bad.csr -subj /CN=bad
            openssl x509 -req -in bad.csr -CA leafy.pem -CAkey r10.key -CAcreateserial -days 9 -extfile leaf -out bad.pem
            } >openssl.log 2>&1 || { cat openssl.log; exit 1; }
            """)
        let other = try IdentityHome()
        #expect(try other.keyfob("trust", "add", home.file("root.pem"), "--name", "corp").status == 0)
        #expect(
            try other.keyfob(
                "identity", "import", home.file("bad.key"), home.file("bad.pem"), home.file("leafy.pem"), "--name",
                "bad"
            ).status == 0)
        let bad = try other.keyfob("identity", "check", "bad")
        #expect(bad.status == 11 && bad.output.contains("FAIL"), "\(bad.output)\(bad.error)")
    }

    @Test func `a report says that only the previous version is trusted, and how to trust the next one`() throws {
        let home = try IdentityHome()
        let authority = ["identity", "create", "ta", "--cn", "TA", "--authority", "--self-signed", "--lifetime", "10d"]
        try #require(Tool.keyfob(authority, environment: home.environment).run().status == 0)
        // Untrusted versions are not mentioned.
        let silent = try home.keyfob("identity", "renew", "ta", "--force")
        try #require(silent.status == 0 && !silent.output.contains("to trust the version in use"), "\(silent)")
        try #require(home.keyfob("identity", "retire", "ta", "--yes").status == 0)
        try #require(home.keyfob("trust", "add", "ta", "--for", "server").status == 0)

        let renewed = try home.keyfob("identity", "renew", "ta", "--force", "--lifetime", "90d")
        let kept = try #require(renewed.output.firstMatch(of: /kept as (ta@[0-9.-]+)/), "\(renewed)").output.1
        let sentence = "only \(kept) is trusted, until it expires; to trust the version in use: "
        let told = "  \(sentence)keyfob trust add ta --for server\n"
        #expect(renewed.output.contains(told), "\(renewed.output)")

        // After the anchor has expired, the next version is the one to be trusted.
        let create = ["identity", "create", "web", "--dns", "web.example", "--issuer", "ta", "--lifetime", "60d"]
        try #require(Tool.keyfob(create, environment: home.environment).run().status == 0)
        let day = try home.shell("date -u -d '30 days' +%F").trimmingCharacters(in: .newlines)
        func verify() throws -> Tool.Result {
            try home.keyfob("cert", "verify", "web", "--at", day, "--no-system", "--usage", "server")
        }
        let failed = try verify()
        #expect(failed.status == 11 && failed.error.contains("certificate \"TA\" expired on"), "\(failed.error)")
        #expect(failed.error.contains("its next version is not: keyfob trust add ta --for server\n"), "\(failed.error)")

        // Each change of versions reports it, and so does the document.
        let again = try IdentityHome.json(home.keyfob("identity", "use", String(kept), "--json"))
        #expect(again["trust_stays_with"] as? [String] == [] && again["hint"] is NSNull)
        let younger = try #require((again["kept"] as? [String])?.first)
        let back = try home.keyfob("identity", "use", younger)
        #expect(back.output.contains("\nNote: \(sentence)keyfob trust add ta --for server\n"), "\(back.output)")
        let document = try IdentityHome.json(home.keyfob("identity", "use", String(kept), "--json"))
        #expect(document["trust_stays_with"] as? [String] == [])
        let forced = try IdentityHome.json(
            home.keyfob("identity", "renew", "ta", "--force", "--lifetime", "90d", "--json"))
        let identity = try #require((forced["identities"] as? [[String: Any]])?.first)
        #expect((identity["trust_stays_with"] as? [String])?.count == 1)
        #expect(identity["hint"] as? String == "keyfob trust add ta --for server")

        #expect(try home.keyfob("trust", "add", "ta", "--for", "server").status == 0)
        #expect(try verify().status == 0)
    }

    @Test func `an expired certificate is not trusted, and the system's store belongs to root`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("old", days: -3)
        let old = try home.keyfob("trust", "add", home.file("old.pem"), "--json")
        #expect(old.status == 11)
        #expect(try IdentityHome.code(old) == "cert.expired")
        // A file is not an identity, and a certificate that is installed has no name yet.
        let verified = try home.keyfob("cert", "verify", home.file("old.pem"))
        #expect(verified.error.contains("certificate \"old.pem\" expired on"), "\(verified.error)")
        #expect(verified.error.contains("(3 days ago)."), "\(verified.error)")
        // The same in a message and in a list.
        try home.makeSelfSigned("ancient", days: -1500)
        let ancient = try home.keyfob("cert", "verify", home.file("ancient.pem"))
        #expect(ancient.error.contains("(4 years ago)."), "\(ancient.error)")
        #expect(try home.keyfob("cert", "import", home.file("ancient.pem")).output.contains("(4 years ago)."))
        #expect(verified.status == 11 && !verified.error.contains("identity renew"), "\(verified.error)")
        let installed = try home.keyfob("identity", "install", "api", "--cert", home.file("old.pem"))
        #expect(installed.status == 11 && installed.error.contains("certificate \"old.pem\" expired"), "\(installed.error)")
        // As a user that is not root; the test may be root.
        for (file, word) in [("x.pem", "x.pem"), ("/a b/x.pem", "'/a b/x.pem'")] where geteuid() == 0 {
            let nobody = try Tool(
                "/usr/bin/setpriv",
                ["--reuid", "65534", "--clear-groups", Tool.keyfob([]).path, "trust", "add", file, "--scope", "system"],
                environment: home.environment
            ).run()
            #expect(nobody.status == 12)
            #expect(
                nobody.error == """
                    keyfob: cannot write the system trust store: needs root.
                        Run it with sudo, or trust it only in your keychain: keyfob trust add \(word) --scope user

                    """)
        }
    }

    @Test func `commands about files alone need no keychain`() throws {
        let home = try IdentityHome()
        try home.makeWeb()
        let missing = try home.keyfob("cert", "verify", "nope.crt")
        #expect(missing.status == 3, "\(missing.error)")
        #expect(
            missing.error.hasPrefix(
                "keyfob: no certificate \"nope.crt\" in keychain \"login\", and there is no such file.\n"),
            "\(missing.error)")
        try #require(home.keyfob("keychain", "rm", "login", "--yes").status == 0)
        try #require(home.keyfob("cert", "ls").status == 3)
        let environment = ["KEYFOB": Tool.keyfob([]).path]
        for options in ["--no-keychain", "--no-system"] {
            let command = "\"$KEYFOB\" cert verify web.pem --untrusted r10.pem --ca root.pem \(options)"
            let verified = try home.shell(command, environment: environment)
            #expect(verified == "ok  www.example.org <- R10 <- Root (trusted in this command)\n")
        }
        let chain = try home.keyfob(
            "cert", "chain", home.file("web.pem"), "--untrusted", home.file("above.pem"), "--format", "tsv")
        #expect(chain.status == 0 && chain.output.split(separator: "\n").count == 4, "\(chain.output)\(chain.error)")
        if geteuid() == 0 {
            let trial = try home.keyfob("trust", "add", home.file("root.pem"), "--scope", "system", "--dry-run")
            #expect(trial.output == "Would trust \"Root\".\n", "\(trial.error)")
        }
        // An explicit keychain is used.
        let named = try home.keyfob("cert", "verify", home.file("web.pem"), "-k", "prod", "--ca", home.file("above.pem"))
        #expect(named.status == 3, "\(named.output)\(named.error)")
        // A name is still one of the keychain.
        #expect(try home.keyfob("cert", "verify", "web").status == 3)
    }

    @Test func `missing issuers are fetched from the places that certificates name`() throws {
        let home = try IdentityHome()
        try home.shell("mkdir www")
        let (server, port) = try home.serve("www")
        // Not SIGTERM, which threads of this process may have blocked; their children inherit that.
        defer { kill(server.processIdentifier, SIGKILL) }
        try home.shell(
            """
            {
            for name in root r10 r11; do
                openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $name.key -out $name.csr -subj /CN=$name
            done
            printf 'basicConstraints=critical,CA:TRUE\\n' > ca
            openssl x509 -req -in root.csr -signkey root.key -days 30 -extfile ca -out root.pem
            printf 'basicConstraints=critical,CA:TRUE\\nauthorityInfoAccess=caIssuers;URI:http://127.0.0.1:\(port)/root.der\\n' > ca
            openssl x509 -req -in r10.csr -CA root.pem -CAkey root.key -CAcreateserial -days 20 -extfile ca -out r10.pem
            printf 'basicConstraints=critical,CA:TRUE\\nauthorityInfoAccess=caIssuers;URI:http://127.0.0.1:\(port)/r10.der\\n' > ca
            openssl x509 -req -in r11.csr -CA r10.pem -CAkey r10.key -CAcreateserial -days 20 -extfile ca -out r11.pem
            openssl x509 -in root.pem -outform DER -out www/root.der
            openssl x509 -in r10.pem -outform DER -out www/r10.der
            } > openssl.log 2>&1 || { cat openssl.log; exit 1; }
            """)
        #expect(try home.keyfob("cert", "import", home.file("r11.pem")).status == 0)
        let without = try home.keyfob("cert", "chain", "r11")
        #expect(without.status == 11 && without.error.contains("keyfob cert chain r11 --fetch"))
        let fetched = try home.keyfob("cert", "chain", "r11", "--fetch", "--json")
        #expect(fetched.status == 0, "\(fetched.error)")
        #expect(fetched.output.contains("\"fetched\":2") && fetched.output.contains("\"trusted\":false"))
        // The intermediate is kept, the root is not: the user has not chosen to trust it.
        #expect(try home.keyfob("cert", "ls", "--format", "tsv").output.split(separator: "\n").count == 3)
        kill(server.processIdentifier, SIGKILL)
        #expect(hasEnded(server.processIdentifier))
        #expect(try home.keyfob("trust", "add", home.file("root.pem")).status == 0)
        #expect(try home.keyfob("cert", "verify", "r11").output == "ok  r11 <- r10 <- root (trusted by the keychain)\n")
    }
}

extension IdentityHome {
    /// A web server with the files of a directory, which answers, and its port.
    fileprivate func serve(_ directory: String) throws -> (server: Process, port: String) {
        let server = Process()
        server.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        server.arguments = [
            "python3", "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", file(directory),
        ]
        // It reports its address when it listens.
        let output = Pipe()
        server.standardOutput = output
        server.standardError = FileHandle.nullDevice
        try server.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard let port = line.firstMatch(of: /port ([0-9]+)/)?.1 else {
            kill(server.processIdentifier, SIGKILL)
            throw RunError.notStarted(executable: "python3", reason: line)
        }
        return (server, String(port))
    }
}
