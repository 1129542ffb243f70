import Foundation
import KeyfobPrimitives
import TestSupport
import Testing

@testable import KeyfobCLI

@Suite struct IdentityCommandTests {
    @Test func `each identity has files of its own, with any name`() throws {
        let household = try TestHome.unattended()
        let names = [
            "日本", "中国", "a b", "a_b", "_a_b", "a/b", "../a", ".a", "-a", "Ü", "ü", String(repeating: "y", count: 300),
            String(repeating: "y", count: 301),
        ]
        let directory = household.directory.file("site")
        for (number, name) in names.enumerated() {
            let made = try household.keyfob(["identity", "create", "--cn", "n\(number)", "--self-signed", "--", name])
            #expect(made.status == 0, "\(made.error)")
            let written = try household.keyfob(["uri", "--for", "gnutls", "--write", directory, "--", name])
            #expect(written.status == 0, "\(written.error)")
        }
        let files = try FileManager.default.contentsOfDirectory(atPath: directory)
        #expect(files.filter { $0.hasSuffix(".fullchain.pem") }.count == names.count, "\(files)")
        #expect(files.contains("a_b.fullchain.pem"))
    }

    @Test func `a PKCS#12 file is imported as an identity once`() throws {
        let home = try IdentityHome()
        try home.makeWeb()
        let arguments = [
            "identity", "import", home.file("web.p12"), "--name", "web", "--pass-source", "file:" + home.file("pass"),
        ]
        let first = try Tool.keyfob(arguments, environment: home.environment).run()
        #expect(first.status == 0)
        let lines = first.output.split(separator: "\n")
        try #require(lines.count == 5, "\(first.output)\(first.error)")
        #expect(lines[0] == "web.p12: 1 private key, 3 certificates, integrity ok")
        #expect(lines[1] == "  key     RSA 2048          -> token \"login\", not extractable")
        #expect(lines[2].hasPrefix("  leaf    www.example.org   valid until "))
        // A minute after its creation it has one day less.
        #expect(lines[2].hasSuffix(" (412 days), serverAuth") || lines[2].hasSuffix(" (411 days), serverAuth"))
        #expect(lines[3] == "  chain   1 intermediate stored, root not stored")
        #expect(lines[4] == "Identity \"web\" is ready.")
        let again = try Tool.keyfob(arguments, environment: home.environment).run()
        #expect(again.status == 0)
        #expect(again.output == "Unchanged: identity \"web\" already has this key and certificate.\n")

        let list = try home.keyfob("identity", "ls")
        #expect(
            list.output.replacing("in 411 days", with: "in 412 days") == """
                NAME   SUBJECT           ISSUER   KEY        TOKEN   EXPIRES       STATE
                web    www.example.org   R10      RSA 2048   login   in 412 days   ok

                """)
        let check = try home.keyfob("identity", "check", "web")
        #expect(check.status == 0)
        #expect(check.output.contains("ok  signed a test challenge in "))
    }

    @Test(arguments: [
        (["identity", "rm", "web"], "wrong", ": "), (["key", "rm", "web"], "wrong", ": "),
        (["cert", "rm", "web"], "n", "] "),
        (["keychain", "rm", "login"], "", ": "), (["rm", "a"], "", "] "),
    ])
    func `a removal that is not confirmed stops the later steps`(
        arguments: [String], answer: String, prompt: String
    ) throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        try #require(household.keyfob(["identity", "create", "web", "--cn", "web", "--self-signed"]).status == 0)
        let result = try household.keyfob(arguments, typing: [answer], after: prompt).result
        #expect(result.status == 130 && result.output.isEmpty, "\(result.output)")
        #expect(result.error.contains("keyfob: nothing was removed."), "\(result.error)")
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
        #expect(try household.keyfob(["identity", "check", "web"]).status == 0)
    }

    @Test func `the chain is exported without its root, and the key is not exported`() throws {
        let home = try IdentityHome()
        try home.makeWeb()
        #expect(
            try home.keyfob(
                "identity", "import", home.file("web.key"), home.file("web.pem"), home.file("above.pem"), "--name",
                "web"
            ).status == 0)
        let chain = try home.keyfob("cert", "export", "web", "--chain", "-o", home.file("fullchain.pem"))
        #expect(
            chain.output == "Wrote fullchain.pem: leaf + 1 intermediate, no root. The issuer of the last is not in the "
                + "keychain (Root): the root, or an intermediate that servers must send.\n")
        let subjects = try home.shell(
            "openssl crl2pkcs7 -nocrl -certfile fullchain.pem | openssl pkcs7 -print_certs -noout | grep subject")
        #expect(subjects == "subject=CN = www.example.org\nsubject=CN = R10\n")

        let export = try home.keyfob(
            "identity", "export", "web", "--format", "pkcs12", "-o", home.file("copy.p12"), "--json")
        #expect(export.status == 8)
        #expect(try IdentityHome.code(export) == "key.not_extractable")
        #expect(!FileManager.default.fileExists(atPath: home.file("copy.p12")))
    }

    @Test(arguments: ["ec -pkeyopt ec_paramgen_curve:P-256", "ec -pkeyopt ec_paramgen_curve:P-384", "rsa:2048"])
    func `an extractable identity is exported unchanged`(algorithm: String) throws {
        let home = try IdentityHome()
        try home.shell(
            "openssl req -x509 -newkey \(algorithm) -nodes -keyout a.key -out a.pem -days 90 -subj /CN=a 2>/dev/null")
        #expect(
            try home.keyfob(
                "identity", "import", home.file("a.key"), home.file("a.pem"), "--name", "a", "--extractable"
            ).status == 0)
        let export = try home.keyfob(
            "identity", "export", "a", "-o", home.file("a.p12"), "--pass-source", "file:" + home.file("pass"))
        #expect(export.status == 0, "\(export.error)")
        // The public half is computed from the private one, so it shows that the private one is the same.
        let before = try home.shell("openssl pkey -in a.key -pubout")
        let after = try home.shell("openssl pkcs12 -in a.p12 -passin file:pass -nocerts -nodes | openssl pkey -pubout")
        #expect(before == after)
    }

    @Test(arguments: [[], ["-o", "-"], ["-o", "/dev/stdout"]])
    func `if a document is requested, standard output gets it with the PKCS#12 file inside`(
        options: [String]
    ) throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("a")
        let imported = try home.keyfob(
            "identity", "import", home.file("a.key"), home.file("a.pem"), "--name", "a", "--extractable")
        try #require(imported.status == 0, "\(imported.error)")
        func document(_ more: [String]) throws -> [String: Any] {
            let words = ["identity", "export", "a", "--json", "--pass-source", "file:" + home.file("pass")]
            let result = try Tool.keyfob(words + options + more, environment: home.environment).run()
            try #require(result.status == 0, "\(result.error)")
            return try #require(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
        }
        let planned = try document(["--dry-run"])
        #expect(planned["format"] as? String == "pkcs12" && planned["dry_run"] as? Bool == true)
        #expect(planned["file"] as? String == options.last)
        let file = try #require(try Data(base64Encoded: document([])["pkcs12_b64"] as? String ?? ""))
        try home.directory.write(Array(file), to: "a.p12")
        #expect(
            try home.shell("openssl pkcs12 -in a.p12 -passin file:pass -nocerts -nodes | openssl pkey -pubout")
                == home.shell("openssl pkey -in a.key -pubout"))
    }

    @Test(arguments: [
        ["cert", "export", "a", "--format", "pem"], ["key", "pub", "a", "--format", "ssh"],
        ["identity", "export", "a", "--format", "pkcs12", "--pass-source", "file:pass"],
    ])
    func `an explicit file form is used in spite of a variable`(arguments: [String]) throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("a")
        let imported = try home.keyfob(
            "identity", "import", home.file("a.key"), home.file("a.pem"), "--name", "a", "--extractable")
        try #require(imported.status == 0, "\(imported.error)")
        let command = "\"$KEYFOB\" " + arguments.joined(separator: " ")
        let environment = ["KEYFOB": Tool.keyfob([]).path, "KEYFOB_FORMAT": "json"]
        let start = try home.shell(command + " | head -c 1", environment: environment)
        #expect(!start.isEmpty && start != "{")
        #expect(try home.shell(command + " --json | head -c 1", environment: environment) == "{")
    }

    @Test func `certificates that expire are listed, and the exit status shows them`() throws {
        let home = try IdentityHome()
        for (name, days) in [("fresh", 90), ("soon", 7), ("old", -3)] {
            try home.makeSelfSigned(name, days: days)
            let result = try home.keyfob(
                "identity", "import", home.file(name + ".key"), home.file(name + ".pem"), "--name", name,
                "--allow-expired")
            #expect(result.status == 0, "\(result.error)")
        }
        let due = try home.keyfob("cert", "expiring", "--within", "30d", "--exit-code")
        #expect(due.status == 10)
        let lines = due.output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        try #require(lines.count == 2, "\(due.output)")
        let span = lines[1].suffix(3).joined(separator: " ")
        #expect(lines[1].first == "soon" && ["in 7 days", "in 6 days"].contains(span))
        #expect(lines[0].first == "old" && lines[0].last == "expired")
        #expect(try home.keyfob("cert", "expiring", "--within", "30d").status == 0)
        #expect(try home.keyfob("cert", "expiring", "--within", "1s", "--exit-code", "-k", "login").status == 10)
        #expect(try home.keyfob("identity", "check", "old").status == 11)
        #expect(try home.keyfob("identity", "check", "fresh").status == 0)
        let states = try home.keyfob("identity", "ls").output
        #expect(states.contains("3 days ago   expired"))
    }

    @Test(arguments: [
        ("20200101000000Z", -3, "cert.expired"), ("20980101000000Z", 40_000, "cert.not_yet_valid"),
    ])
    func `a version that is not valid is put into use only on request`(
        begin: String, days: Int, code: String
    ) throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("old", commonName: "web", begin: begin, days: days)
        try home.makeSelfSigned("new", commonName: "web")
        for (file, option) in [("old", "--allow-expired"), ("new", "--replace")] {
            let made = try home.keyfob(
                "identity", "import", home.file(file + ".key"), home.file(file + ".pem"), "--name", "web", option)
            try #require(made.status == 0, "\(made.error)")
        }
        let list = try IdentityHome.json(home.keyfob("identity", "ls", "--json"))["identities"] as? [[String: Any]]
        let version = try #require(list?.compactMap { $0["name"] as? String }.first { $0 != "web" })
        let before = try home.keyfob("cert", "export", "web").output
        for options in [[], ["--dry-run"]] {
            let refused = try Tool.keyfob(
                ["identity", "use", version, "--json"] + options, environment: home.environment
            ).run()
            #expect(refused.status == 11, "\(refused)")
            #expect(try IdentityHome.code(refused) == code)
            #expect(refused.error.contains("Continue anyway: --allow-expired"), "\(refused.error)")
        }
        #expect(try home.keyfob("cert", "export", "web").output == before)
        let planned = try home.keyfob("identity", "use", version, "--allow-expired", "--dry-run")
        #expect(planned.status == 0, "\(planned.error)")
        let made = try home.keyfob("identity", "use", version, "--allow-expired")
        #expect(made.status == 0, "\(made.error)")
        #expect(try home.keyfob("cert", "export", "web").output != before)
    }

    @Test(
        arguments: [
            ("head -c 200 web.p12 > bad.p12", "pass", 9, "pkcs12.damaged"),
            ("head -c 5 web.p12 > bad.p12", "pass", 9, "pkcs12.damaged"),
            // The last bytes are the MAC's salt and count.
            ("head -c -20 web.p12 > bad.p12; printf 'xxxxxxxxxxxxxxxxxxxx' >> bad.p12", "pass", 9, nil),
            ("cp web.p12 bad.p12", "wrong", 5, "pkcs12.passphrase"),
            ("cp web.p12 bad.p12", nil, 6, "pin.required"),
            (
                "openssl pkcs12 -export -legacy -inkey web.key -in web.pem -passout file:pass -out bad.p12", "pass", 8,
                "pkcs12.legacy"
            ),
            ("printf 'no key at all' > bad.p12", "pass", 9, "format.unsupported"),
            (": > bad.p12", "pass", 9, "format.unsupported"),
            ("true", "pass", 1, "file.unavailable"),
        ] as [(String, String?, Int32, String?)])
    func `an unusable file is refused with the reason and changes nothing`(
        making: String, passphrase: String?, status: Int32, code: String?
    ) throws {
        let home = try IdentityHome()
        try home.makeWeb()
        try home.directory.write("not it".utf8, to: "wrong")
        try home.shell(making)
        let source = passphrase.map { ["--pass-source", "file:" + home.file($0)] } ?? []
        let result = try Tool.keyfob(
            ["identity", "import", home.file("bad.p12"), "--name", "web", "--json"] + source,
            environment: home.environment
        ).run()
        #expect(result.status == status, "\(result.error)")
        #expect(result.output.isEmpty)
        if let code { #expect(try IdentityHome.code(result) == code) }
        #expect(try home.keyfob("key", "ls", "--format", "tsv").output.split(separator: "\n").count <= 1)
    }

    @Test func `old encryption is read if it is allowed`() throws {
        let home = try IdentityHome()
        try home.makeWeb()
        try home.shell("openssl pkcs12 -export -legacy -inkey web.key -in web.pem -passout file:pass -out old.p12")
        let result = try home.keyfob(
            "identity", "import", home.file("old.p12"), "--name", "web", "--pass-source", "file:" + home.file("pass"),
            "--allow-legacy")
        #expect(result.status == 0, "\(result.error)")
        // The same rule applies to the certificates of such a file: they are refused unless it is allowed.
        try home.shell("openssl pkcs12 -export -legacy -nokeys -in r10.pem -passout file:pass -out ca.p12")
        let certificates = ["cert", "import", home.file("ca.p12"), "--pass-source", "file:" + home.file("pass")]
        let refused = try Tool.keyfob(certificates + ["--json"], environment: home.environment).run()
        #expect(try refused.status == 8 && IdentityHome.code(refused) == "pkcs12.legacy", "\(refused.error)")
        #expect(refused.error.contains("--allow-legacy") && !refused.error.contains("identity import"))
        let allowed = try Tool.keyfob(certificates + ["--allow-legacy"], environment: home.environment).run()
        #expect(allowed.status == 0 && allowed.output.hasPrefix("Stored certificate \"R10\""), "\(allowed.error)")
    }

    @Test func `a key that is not the certificate's, an expired one and a taken name are refused`() throws {
        let home = try IdentityHome()
        for (name, days) in [("a", 90), ("b", 90), ("old", -3)] { try home.makeSelfSigned(name, days: days) }
        let mismatch = try home.keyfob(
            "identity", "import", "--key", home.file("a.key"), "--cert", home.file("b.pem"), "--json")
        #expect(mismatch.status == 11)
        #expect(try IdentityHome.code(mismatch) == "identity.mismatch")
        let expired = try home.keyfob("identity", "import", home.file("old.key"), home.file("old.pem"), "--json")
        #expect(expired.status == 11)
        #expect(try IdentityHome.code(expired) == "cert.expired")
        #expect(
            try home.keyfob("identity", "import", home.file("a.key"), home.file("a.pem"), "--name", "web").status == 0)
        let taken = try home.keyfob(
            "identity", "import", home.file("b.key"), home.file("b.pem"), "--name", "web", "--json")
        #expect(taken.status == 4)
        #expect(try IdentityHome.code(taken) == "item.exists")
        let replaced = try home.keyfob(
            "identity", "import", home.file("b.key"), home.file("b.pem"), "--name", "web", "--replace")
        #expect(
            replaced.status == 0 && replaced.output.contains("\n  kept    the old one, as web@20"), "\(replaced.error)")
        // Handshakes that began with the old key need it until the version is retired.
        let list = try home.keyfob("identity", "ls", "--format", "tsv").output.split(separator: "\n")
        #expect(list.count == 3 && list.contains { $0.hasPrefix("web@20") })
        let again = try home.keyfob(
            "identity", "import", home.file("b.key"), home.file("b.pem"), "--name", "web", "--replace")
        #expect(again.output == "Unchanged: identity \"web\" already has this key and certificate.\n")
        #expect(try home.keyfob("identity", "retire", "web", "--yes").status == 0)
        #expect(try home.keyfob("identity", "ls", "--format", "tsv").output.split(separator: "\n").count == 2)
        #expect(try home.keyfob("key", "ls", "--format", "tsv").output.split(separator: "\n").count == 2)
        #expect(try home.keyfob("identity", "check", "web").status == 0)
    }

    @Test func `an identity is found by name, fingerprint, common name and URI`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("a", commonName: "example")
        try home.makeSelfSigned("b", commonName: "example")
        for name in ["a", "b"] {
            #expect(
                try home.keyfob(
                    "identity", "import", home.file(name + ".key"), home.file(name + ".pem"), "--name", name
                ).status == 0)
        }
        let hexadecimal = try home.shell("openssl x509 -in b.pem -outform DER | sha256sum | cut -c1-12").trimmingBlanks
        let uri = try home.keyfob("uri", "b").output.trimmingBlanks
        for name in ["b", "sha256:" + hexadecimal, uri] {
            let shown = try home.keyfob("identity", "show", name)
            #expect(shown.output.hasPrefix("name         b\n"), "\(name): \(shown.error)")
        }
        let ambiguous = try home.keyfob("identity", "show", "example", "--json")
        #expect(ambiguous.status == 4)
        #expect(try IdentityHome.code(ambiguous) == "item.ambiguous")
        let missing = try home.keyfob("identity", "show", "c", "--json")
        #expect(missing.status == 3)
        #expect(try IdentityHome.code(missing) == "item.not_found")
    }

    @Test func `the usages of a certificate are shown to users and to programs`() throws {
        let household = try TestHome.unattended()
        for command in [
            "root --cn Root --authority --path-length 1 --self-signed",
            "web --cn web --email a@b.example --usage client --issuer root",
        ] {
            let words = ["identity", "create"] + command.split(separator: " ").map(String.init)
            let made = try household.keyfob(words)
            try #require(made.status == 0, "\(made.error)")
        }
        let root = try household.document(["identity", "show", "root"])
        #expect(root["path_length"] as? Int == 1 && (root["key_usage"] as? [String])?.contains("keyCertSign") == true)
        let lines = try household.keyfob(["identity", "show", "root"]).output
        #expect(lines.contains("\nauthority    yes, with at most 1 below it\n"), "\(lines)")
        for noun in ["identity", "cert"] {
            let shown = try household.document([noun, "show", "web"])
            #expect(shown["extended_key_usage"] as? [String] == ["clientAuth"])
            #expect(shown["key_usage"] as? [String] == ["digitalSignature"])
            #expect((shown["names"] as? [String])?.count == 1 && shown["path_length"] is NSNull)
            let issuer = try #require(shown["authority_key_id"] as? String)
            #expect(issuer == root["subject_key_id"] as? String)
            let sha1 = try #require(shown["fingerprint_sha1"] as? String)
            #expect(sha1.hasPrefix("sha1:") && sha1.utf8.count == 45)
            let text = try household.keyfob([noun, "show", "web"]).output
            let begin = shown["not_before"] as? String ?? "?"
            for value in [issuer, String(sha1.dropFirst(5)), begin, "digitalSignature"] {
                #expect(text.contains(" \(value)\n"), "\(value): \(text)")
            }
        }
    }

    @Test func `a removal needs a confirmation, and removes key and certificate`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("a")
        #expect(
            try home.keyfob("identity", "import", home.file("a.key"), home.file("a.pem"), "--name", "a").status == 0)
        #expect(try home.keyfob("identity", "rm", "a").status == 12)
        #expect(try home.keyfob("identity", "rm", "a", "--dry-run").status == 0)
        #expect(try home.keyfob("identity", "check", "a").status == 0)
        #expect(try home.keyfob("identity", "rm", "a", "--yes").status == 0)
        #expect(try home.keyfob("identity", "show", "a").status == 3)
        #expect(try home.keyfob("key", "ls", "--format", "tsv").output.split(separator: "\n").count <= 1)
        #expect(try home.keyfob("cert", "show", "a").status == 3)
    }

    @Test(arguments: [("1", false), ("1,3", true), ("1,13", true)])
    func `the check reports a token that cannot sign for TLS 1_3`(mechanisms: String, serves: Bool) throws {
        // Decimal: CKM_RSA_PKCS, CKM_RSA_X_509, CKM_RSA_PKCS_PSS.
        let (household, environment) = try TestHome.withCard()
        let made = try household.keyfob(
            ["identity", "create", "web", "--key", "rsa", "--size", "2048", "--cn", "web", "--self-signed"],
            environment: environment)
        try #require(made.status == 0, "\(made.error)")
        let check = try household.keyfob(
            ["identity", "check", "web"],
            environment: environment.merging(["FAULTY_REFUSE": "sign-only=" + mechanisms]) { $1 })
        #expect(check.status == 0 && check.output.contains("signed a test challenge"), "\(check.output)\(check.error)")
        #expect(check.output.contains("cannot sign for TLS 1.3") != serves, "\(check.output)")
    }
}
