import Foundation
import TestSupport
import Testing

/// The output of a dry run, which is that of the run as far as it is known in advance.
@Suite struct DryRunTests {
    /// Commands of each verb that changes something, in an order in which all of them succeed.
    private static let commands = [
        "key generate k", "key generate s --type aes", "key csr k --cn k -o FILE/k.csr", "SIGN",
        "key pub k -o FILE/k.pub", "identity install k --cert FILE/k.pem",
        "identity create web --dns web.example --self-signed",
        "identity create web --cn web --self-signed --if-missing",
        "identity import FILE/ca.pem --key FILE/ca.key --name ca --extractable",
        "identity export ca -o FILE/ca.p12 --pass-source file:FILE/pass",
        "identity export ca --pass-source file:FILE/pass", "identity renew web", "identity renew web --force",
        "identity use web --service https://web.example", "identity retire web -y", "cert import FILE/out.pem",
        "cert export web -o FILE/web.pem", "trust add FILE/ca.pem", "trust export -o FILE/anchors.pem", "trust rm ca",
        "uri web --for gnutls --write FILE/tls", "secret generate a --print", "secret copy a c", "get a -o FILE/a",
        "rm a -y", "identity rm web -y", "cert rm ca -y", "cert rm none -y --if-exists", "key rm s -y",
        "keychain create site --unattended", "keychain default site", "keychain default login", "keychain check",
        "unlock", "lock", "keychain rm site -y",
    ]

    @Test func `the document of a dry run has the members of the run's`() throws {
        let home = try IdentityHome()
        for name in ["ca", "out"] { try home.makeSelfSigned(name) }
        func members(_ command: String, _ options: [String]) throws -> Set<String> {
            let words = command.split(separator: " ").map { String($0).replacing("FILE", with: home.directory.path) }
            let result = try Tool.keyfob(words + ["--json"] + options, environment: home.environment).run()
            try #require(result.status == 0, "\(command) \(options): \(result.error)")
            let document = try IdentityHome.json(result)
            var names = Set(document.keys)
            for name in ["identities", "certificates", "removed"] {
                for one in document[name] as? [[String: Any]] ?? [] {
                    names.formUnion(one.keys.map { name + "." + $0 })
                }
            }
            return names
        }
        for command in Self.commands {
            guard command != "SIGN" else {
                try home.shell(
                    "openssl x509 -req -in k.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out k.pem 2>/dev/null")
                continue
            }
            let planned = try members(command, ["--dry-run"])
            let done = try members(command, [])
            #expect(planned == done, "\(command): \(planned.symmetricDifference(done))")
        }
    }

    @Test func `the document of a planned keychain contains what is known before`() throws {
        let household = try TestHome()
        for (options, protection) in [
            (["--unattended"], "the token's PIN lies in a file that only its owner can read"),
            (["--pin-source", "prompt"], "a passphrase (scrypt) seals the token's PIN"),
        ] {
            let planned = try household.document(["init", "--dry-run"] + options)
            #expect(planned["token"] as? String == "login" && planned["token_uri"] is NSNull, "\(planned)")
            #expect(planned["default"] as? Bool == true && planned["token_new"] as? Bool == true)
            #expect(planned["protection"] as? String == protection && planned["unlocked"] is NSNull)
        }
        let planned = try household.document(["init", "--dry-run", "--unattended"])
        let made = try household.document(["init", "--unattended"])
        #expect(Set(planned.keys) == Set(made.keys))
        for name in ["keychain", "token", "wrapping_key", "protection", "action"] {
            #expect(planned[name] as? String == made[name] as? String && made[name] is String, "\(name)")
        }
    }

    @Test(arguments: [
        (["taken", "--stdin"], "value", 4), (["new", "--stdin"], "", 2), (["taken", "--replace", "--stdin"], "", 2),
        (["new", "--from-file", "/no/such/file"], "", 1), (["taken", "--replace", "--from-file", "/"], "", 1),
        (["new", "--from-file", "/dev/zero"], "", 12), (["new", "--from-env", "NO_SUCH_VARIABLE"], "", 2),
        (["new", "--from-fd", "77"], "", 1),
    ] as [([String], String, Int32)])
    func `a dry run of set refuses what set refuses`(words: [String], input: String, status: Int32) throws {
        let household = try TestHome.unattended()
        try household.set("taken", "one")
        let dry = try household.keyfob(["set"] + words + ["--dry-run"], input: Data(input.utf8))
        let run = try household.keyfob(["set"] + words, input: Data(input.utf8))
        #expect(dry.status == status && run.status == status, "\(dry.error)\(run.error)")
        // The text after it may be a time since an event.
        #expect(dry.output.isEmpty && dry.error.prefix(24) == run.error.prefix(24), "\(dry.error)\(run.error)")
    }

    @Test func `the dry run of a replacement reports if there is an item to replace`() throws {
        let household = try TestHome.unattended()
        try household.set("a", "one")
        let set = ["set", "a", "--replace", "--stdin", "--dry-run"]
        let cases: [(String, [String], String)] = [
            ("one", [], "none"), ("two", [], "update"), ("one", ["--label", "b"], "update"),
        ]
        for (value, options, action) in cases {
            let document = try household.document(set + options, input: Data(value.utf8))
            #expect(document["action"] as? String == action && document["changed"] as? Bool == false, "\(document)")
        }
        let same = try household.keyfob(set, input: Data("one".utf8))
        #expect(same.output == "Unchanged: a exists in \"login\".\n")
        #expect(try household.keyfob(set, input: Data("two".utf8)).output == "Would replace a in \"login\".\n")
        #expect(try household.keyfob(["get", "a"]).output == "one\n")
        let new = try household.document(["set", "b", "--stdin", "--dry-run"], input: Data("one".utf8))
        #expect(new["action"] as? String == "create" && new["changed"] as? Bool == false)
        #expect(try household.keyfob(["get", "b"]).status == 3)
    }

    @Test(arguments: [
        "web --cn x --self-signed", "k --cn x --self-signed", "aes --cn x --self-signed",
        "web@2030-01-02 --cn x --self-signed", "new --cn x --key rsa --size 100 --self-signed",
        "new --subject nonsense --self-signed", "new --email nonsense --self-signed", "new --uri nowhere --self-signed",
        "new --cn x --issuer nobody", "new --cn x --issuer web", "new --cn x --authority --issuer low",
        "new --cn x --authority --path-length 256 --self-signed", "new --cn x --issuer exec:no-such-program",
        "new --dns x.example --issuer acme:http://x.example --listen 80",
        "new --dns x.example --issuer acme:https://x.example --listen 80 --eab-kid k --eab-key-source env:NO_SUCH",
        "new --cn api --dns api.example --issuer acme:https://x.example --listen 80",
        "new --dns x.example --email a@x.example --issuer acme:https://x.example --listen 80",
    ])
    func `a dry run of identity create is refused like the run, with the same words`(words: String) throws {
        let home = try IdentityHome()
        for command in [
            "identity create web --dns web.example --self-signed",
            "identity create low --cn low --authority --path-length 0 --self-signed",
            "key generate k --type rsa --size 2048", "key generate aes --type aes",
        ] {
            let words = command.split(separator: " ").map(String.init)
            let made = try Tool.keyfob(words, environment: home.environment).run()
            try #require(made.status == 0, "\(made.error)")
        }
        let keys = try home.keyfob("key", "ls", "--format", "tsv").output
        let command = ["identity", "create"] + words.split(separator: " ").map(String.init)
        let dry = try Tool.keyfob(command + ["--dry-run"], environment: home.environment).run()
        #expect(dry.status != 0 && dry.output.isEmpty, "\(dry.output)")
        #expect(try home.keyfob("key", "ls", "--format", "tsv").output == keys)
        let run = try Tool.keyfob(command, environment: home.environment).run()
        #expect(dry.status == run.status && dry.error == run.error, "\(dry.error)\(run.error)")
    }

    @Test func `the dry run of an import reports the steps of the run`() throws {
        let home = try IdentityHome()
        try home.makeWeb()
        try home.makeSelfSigned("other")
        let file = ["identity", "import", home.file("web.p12"), "--pass-source", "file:" + home.file("pass")]
        let pair = ["identity", "import", home.file("other.key"), home.file("other.pem")]
        func run(_ words: [String]) throws -> Tool.Result {
            try Tool.keyfob(words + ["--name", "web"], environment: home.environment).run()
        }
        func identity(_ words: [String]) throws -> [String: Any] {
            let all = try IdentityHome.json(run(words + ["--json"]))["identities"] as? [[String: Any]]
            return try #require(all?.first)
        }
        let told = try run(file + ["--dry-run"])
        let lines = told.output.split(separator: "\n")
        try #require(told.status == 0 && lines.count == 6, "\(told)")
        #expect(lines[0] == "web.p12: 1 private key, 3 certificates, integrity ok")
        #expect(lines[1] == "  key     RSA 2048          -> token \"login\", not extractable")
        #expect(lines[2].hasPrefix("  leaf    www.example.org   valid until "))
        #expect(lines[3] == "  chain   1 intermediate to be stored, root not stored")
        #expect(lines[4] == "Would import identity \"web\".")
        #expect(lines[5] == "Dry run: nothing was imported.")
        #expect(try run(pair + ["--dry-run"]).output.contains("Would import identity \"web\"."))

        for (words, options) in [(file, ["--extractable"]), (pair, ["--replace"])] {
            let planned = try identity(words + options + ["--dry-run"])
            let made = try identity(words + options)
            // The key's place is not known before.
            #expect(planned["changed"] as? Bool == false && planned["uri"] is NSNull)
            for name in made.keys where !["changed", "dry_run", "uri"].contains(name) {
                #expect("\(planned[name] ?? "-")" == "\(made[name] ?? "-")", "\(name)")
            }
            #expect((made["kept"] as? [String])?.isEmpty == (options != ["--replace"]), "\(made)")
            let again = try run(words + ["--dry-run"])
            #expect(
                again.output == "Unchanged: identity \"web\" already has this key and certificate.\n"
                    + "Dry run: nothing was imported.\n", "\(again)")
            guard words == file else { continue }
            let refused = try run(pair + ["--dry-run"])
            let replaced = try run(pair + ["--dry-run", "--replace"])
            #expect(refused.status == 4 && refused.error.contains("Replace it: add --replace"), "\(refused)")
            #expect(replaced.output.contains("\n  kept    the current one, as web@20"), "\(replaced)")
        }
    }

    @Test func `a dry run prints no secret in place of a generated one`() throws {
        let household = try TestHome.unattended()
        let generate = ["secret", "generate", "a", "--print", "--if-missing"]
        #expect(try household.document(generate + ["--dry-run"])["value"] is NSNull)
        let made = try household.document(generate)["value"] as? String
        #expect(try household.document(generate)["value"] as? String == made && made != nil)
        // A dry run prints nothing secret.
        #expect(try household.document(generate + ["--dry-run"])["value"] is NSNull)
    }
}
