import Foundation
import TestSupport
import Testing

/// The reports of imports that do less than requested.
@Suite struct ImportCommandTests {
    @Test func `an existing identity is not imported under another name`() throws {
        let home = try IdentityHome()
        try home.makeWeb()
        let pass = "file:" + home.file("pass")
        func add(_ more: String...) throws -> Tool.Result {
            try Tool.keyfob(
                ["identity", "import", home.file("web.p12"), "--pass-source", pass] + more,
                environment: home.environment
            ).run()
        }
        #expect(try add("--name", "web").status == 0)
        #expect(try add("--name", "web").output.hasPrefix("Unchanged"))
        #expect(try add().status == 0)
        let other = try add("--name", "other", "--json")
        #expect(other.status == 4 && other.output.isEmpty)
        #expect(try IdentityHome.code(other) == "item.exists")
        #expect(other.error.contains("keyfob identity rm web"), "\(other.error)")
        let extractable = try add("--name", "web", "--extractable")
        #expect(extractable.status == 4 && extractable.error.contains("--extractable"))
        #expect(try home.keyfob("identity", "ls", "--format", "tsv").output.split(separator: "\n").count == 2)
    }

    @Test func `an existing key is removed by its current name`() throws {
        let home = try IdentityHome()
        for name in ["a", "b"] { try home.makeSelfSigned(name) }
        func add(_ name: String, _ more: String...) throws -> Tool.Result {
            try Tool.keyfob(
                ["identity", "import", home.file(name + ".key"), home.file(name + ".pem"), "--name", "web"] + more,
                environment: home.environment
            ).run()
        }
        try #require(add("a").status == 0)
        try #require(add("b", "--replace").status == 0)
        let named = try add("b", "--extractable")
        #expect(named.status == 4 && named.error.contains("first: keyfob identity rm web\n"), "\(named.error)")
        try #require(home.keyfob("cert", "rm", "web", "--yes").status == 0)
        let alone = try add("b", "--extractable").error
        let mark = try #require(alone.firstMatch(of: /first: keyfob key rm (sha256:[0-9a-f]+)\n/), "\(alone)").1
        #expect(try home.keyfob("key", "rm", String(mark), "--yes").status == 0)
        #expect(try add("b", "--extractable", "--replace").status == 0)
    }

    @Test func `if the file lacks the chain, the import reports the parts that the keychain has`() throws {
        let home = try IdentityHome()
        try home.makeWeb()
        func add() throws -> String {
            let made = try home.keyfob("identity", "import", home.file("web.key"), home.file("web.pem"), "--name", "web")
            #expect(made.status == 0, "\(made.error)")
            #expect(try home.keyfob("identity", "rm", "web", "--yes").status == 0)
            return String(made.output.split(separator: "\n").first { $0.hasPrefix("  chain") } ?? "")
        }
        #expect(try add() == "  chain   no issuer certificate (issuer R10)")
        #expect(try home.keyfob("cert", "import", home.file("r10.pem")).status == 0)
        #expect(try add() == "  chain   1 intermediate known already")
        #expect(try home.keyfob("cert", "import", home.file("root.pem")).status == 0)
        #expect(try add() == "  chain   1 intermediate known already, root known already")
        // The same if the file contains the whole chain.
        func addAll() throws -> String {
            let made = try home.keyfob(
                "identity", "import", home.file("web.p12"), "--name", "web", "--pass-source", "file:" + home.file("pass"))
            #expect(made.status == 0, "\(made.error)")
            #expect(try home.keyfob("identity", "rm", "web", "--yes").status == 0)
            return String(made.output.split(separator: "\n").first { $0.hasPrefix("  chain") } ?? "")
        }
        #expect(try addAll() == "  chain   1 intermediate known already, root known already")
        #expect(try home.keyfob("trust", "add", home.file("root.pem")).status == 0)
        #expect(try addAll() == "  chain   1 intermediate known already, root already trusted")
    }

    @Test func `every command reports a chain as complete if the keychain has its root`() throws {
        let home = try IdentityHome()
        try home.makeWeb()
        func document(_ arguments: [String]) throws -> [String: Any] {
            let result = try Tool.keyfob(arguments + ["--json"], environment: home.environment).run()
            try #require(result.status == 0, "\(result.error)")
            return try #require(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
        }
        #expect(try home.keyfob("key", "generate", "api").status == 0)
        let request = ["key", "csr", "api", "--cn", "api", "--usage", "server", "-o", home.file("api.csr")]
        _ = try document(request)
        try home.shell(
            """
            openssl x509 -req -in api.csr -CA root.pem -CAkey root.key -CAcreateserial -days 9 -copy_extensions copy \\
                -out api.pem 2>/dev/null
            """)
        let install = ["identity", "install", "api", "--cert", home.file("api.pem"), "--chain", home.file("root.pem")]
        let files = [home.file("web.key"), home.file("web.pem"), home.file("above.pem")]
        // The files have the root, and a root is stored only if the user chooses to trust it.
        for isComplete in [false, true] {
            let imported = try document(["identity", "import", "--name", "web"] + files)["identities"]
            #expect((imported as? [[String: Any]])?.map { $0["chain_complete"] as? Bool } == [isComplete])
            let installed = try document(install)
            #expect(installed["chain_complete"] as? Bool == isComplete)
            #expect(installed["chain_length"] as? Int == (isComplete ? 2 : 1))
            for name in ["web", "api"] {
                for command in [["identity", "show", name], ["cert", "export", name, "--chain"]] {
                    #expect(try document(command)["chain_complete"] as? Bool == isComplete, "\(command)")
                }
            }
            _ = try document(["cert", "import", home.file("root.pem")])
        }
    }

    @Test func `an existing certificate keeps its name`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("web", commonName: "www.example.org")
        try home.shell("openssl x509 -in web.pem -outform DER -out web.der")
        #expect(try home.keyfob("cert", "import", home.file("web.pem"), "--name", "web").status == 0)
        let other = try home.keyfob("cert", "import", home.file("web.der"), "--name", "webder")
        #expect(other.status == 4 && other.error.contains("\"web\""), "\(other.output)")
        let again = try home.keyfob("cert", "import", home.file("web.der"))
        #expect(again.status == 0 && again.output.hasPrefix("Unchanged: certificate \"web\""), "\(again.output)")
        let document = try home.keyfob("cert", "import", home.file("web.der"), "--json")
        #expect(document.output.contains("\"name\":\"web\""))
    }

    @Test func `no certificate gets a name that another one has`() throws {
        let home = try IdentityHome()
        for name in ["old", "new"] { try home.makeSelfSigned(name, commonName: "www.example.org") }
        #expect(try home.keyfob("cert", "import", home.file("old.pem"), "--name", "web").status == 0)
        for command in [["cert", "import"], ["trust", "add", "--yes"]] {
            for option in ["--dry-run", "--json"] {
                let words = command + [home.file("new.pem"), "--name", "web", option]
                let refused = try Tool.keyfob(words, environment: home.environment).run()
                #expect(refused.status == 4 && refused.output.isEmpty, "\(words): \(refused.output)")
                #expect(refused.error.contains("keyfob cert rm web"), "\(words): \(refused.error)")
            }
        }
        #expect(try home.keyfob("cert", "import", home.file("old.pem"), "--name", "web").output.hasPrefix("Unchanged"))
        // A renewed certificate does get it.
        #expect(try home.keyfob("cert", "rm", "web", "--yes").status == 0)
        #expect(try home.keyfob("cert", "import", home.file("new.pem"), "--name", "web").status == 0)
        #expect(try home.keyfob("cert", "export", "web").status == 0)
    }

    @Test func `an ambiguous name gets a hint other than to give it in full`() throws {
        let home = try IdentityHome()
        for name in ["one", "two"] {
            try home.makeSelfSigned(name, commonName: "www.example.org")
            #expect(try home.keyfob("cert", "import", home.file(name + ".pem")).status == 0)
        }
        let ambiguous = try home.keyfob("cert", "show", "www.example.org")
        #expect(ambiguous.status == 4 && ambiguous.error.contains("Use a fingerprint or a URI: "), "\(ambiguous.error)")
        let mark = try #require(ambiguous.error.firstMatch(of: /sha256:[0-9a-f]{16}/)).output
        #expect(try home.keyfob("cert", "show", String(mark)).status == 0)
    }

    @Test func `a byte order mark before the first block of PEM is ignored`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("web", commonName: "www.example.org")
        try home.shell("printf '\\357\\273\\277' | cat - web.pem web.key > marked.pem")
        let result = try home.keyfob("identity", "import", home.file("marked.pem"), "--name", "web")
        #expect(result.status == 0, "\(result.error)")
    }

    @Test(arguments: [
        ("openssl crl2pkcs7 -nocrl -certfile web.pem", "openssl pkcs7 -print_certs"),
        ("openssl crl2pkcs7 -nocrl -certfile web.pem -outform DER", "openssl pkcs7 -inform DER -print_certs"),
        ("cat web.csr", "certificate request"),
    ])
    func `a file that is similar to a certificate is reported by its kind`(command: String, text: String) throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("web")
        try home.shell("\(command) > other")
        let result = try home.keyfob("cert", "import", home.file("other"))
        #expect(result.status == 9 && result.error.contains(text), "\(result.error)")
    }

    @Test func `the certificates of a PKCS12 file are imported without its key`() throws {
        let home = try IdentityHome()
        try home.makeWeb()
        let result = try home.keyfob(
            "cert", "import", home.file("web.p12"), "--pass-source", "file:" + home.file("pass"))
        #expect(result.status == 0, "\(result.error)")
        #expect(try home.keyfob("cert", "ls", "--format", "tsv").output.split(separator: "\n").count == 4)
        #expect(try home.keyfob("key", "ls", "--format", "tsv").output == "")
    }

    @Test(arguments: [
        "openssl genpkey -algorithm ED448", "openssl genpkey -algorithm RSA-PSS -pkeyopt rsa_keygen_bits:2048",
        "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:brainpoolP256r1",
        "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:secp256k1",
    ])
    func `a key that no token accepts is refused in one sentence`(command: String) throws {
        let home = try IdentityHome()
        try home.shell("\(command) -out odd.key 2>openssl.log; openssl req -x509 -new -key odd.key -out odd.pem -days 9 -subj /CN=odd")
        let result = try home.keyfob("identity", "import", home.file("odd.key"), home.file("odd.pem"), "--name", "odd")
        #expect(result.status == 8, "\(result.error)")
        for word in ["unsupportedKey", "Error(", "error:"] { #expect(!result.error.contains(word), "\(result.error)") }
        #expect(result.error.contains("odd.key"))
        #expect(try home.keyfob("key", "ls", "--format", "tsv").output == "")
    }

    @Test func `if a file has two keys, the one with a certificate is imported`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("a")
        try home.makeSelfSigned("b")
        try home.shell("cat a.key b.key >both.key")
        for name in ["a", "b"] {
            let result = try home.keyfob(
                "identity", "import", home.file("both.key"), home.file(name + ".pem"), "--name", name)
            #expect(result.status == 0, "\(result.error)")
        }
        try home.makeSelfSigned("c")
        #expect(try home.keyfob("identity", "import", home.file("both.key"), home.file("c.pem")).status == 11)
    }

    @Test func `an empty passphrase needs no source, and an empty source is reported`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("web")
        try home.shell("openssl pkcs12 -export -inkey web.key -in web.pem -passout pass: -out web.p12; (umask 77; : >empty)")
        let empty = try home.keyfob("identity", "import", home.file("web.p12"), "--pass-source", "file:" + home.file("empty"))
        #expect(empty.status == 6 && empty.error.contains("no passphrase in it"), "\(empty.error)")
        #expect(empty.error.contains("leave out --pass-source"), "\(empty.error)")
        let result = try home.keyfob("identity", "import", home.file("web.p12"))
        #expect(result.status == 0 && result.output.contains("integrity ok"), "\(result.error)")
    }

    @Test(
        arguments: [["identity", "import", "-"], ["identity", "import", "--key", "-"], ["cert", "import", "-"]],
        ["stdin", "fd:0"])
    func `standard input cannot be a file and its passphrase at once`(command: [String], source: String) throws {
        let home = try IdentityHome()
        let result = try Tool.keyfob(
            command + ["--pass-source", source], environment: home.environment, input: Data("secret".utf8)
        ).run()
        #expect(result.status == 2 && result.error.contains("both the passphrase and the file"), "\(result.error)")
    }

    /// Makes `two.p12`, without a passphrase, from the identities `a` and `b` of `makeSelfSigned`, and some more parts.
    private func makeTwo(_ home: IdentityHome, named names: (String?, String?), _ more: [HandmadePKCS12.Bag] = []) throws {
        func data(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: home.file(name))) }
        var bags: [HandmadePKCS12.Bag] = []
        for (file, name) in [("a", names.0), ("b", names.1)] {
            try home.makeSelfSigned(file)
            try home.shell("openssl pkcs8 -topk8 -nocrypt -in \(file).key -outform DER -out \(file).p8")
            try home.shell("openssl x509 -in \(file).pem -outform DER -out \(file).der")
            bags += [.key(try data(file + ".p8"), name: name), .certificate(try data(file + ".der"))]
        }
        try home.directory.write(HandmadePKCS12.file(bags + more), to: "two.p12")
    }

    @Test func `either all identities of a file are imported or none`() throws {
        let home = try IdentityHome()
        func add(_ more: String...) throws -> Tool.Result {
            try Tool.keyfob(["identity", "import", home.file("two.p12")] + more, environment: home.environment).run()
        }
        func isEmpty() throws -> Bool { try home.keyfob("key", "ls", "--format", "tsv").output.isEmpty }
        try makeTwo(home, named: ("same", "same"))
        let same = try add()
        #expect(same.status == 4 && same.error.contains("two identities are to be called \"same\""), "\(same.error)")
        #expect(try add("--replace").status == 4)
        #expect(try isEmpty())

        try makeTwo(home, named: ("first", "second"))
        #expect(try home.keyfob("identity", "create", "second", "--cn", "other", "--self-signed").status == 0)
        let taken = try add()
        #expect(taken.status == 4 && taken.error.contains("\"second\""), "\(taken.error)")
        #expect(taken.error.contains("--replace"))
        #expect(try home.keyfob("identity", "ls", "--format", "tsv").output.split(separator: "\n").count == 2)
        #expect(try add("--replace").status == 0)
        // The heading, the two identities, and the one whose name was taken over.
        #expect(try home.keyfob("identity", "ls", "--format", "tsv").output.split(separator: "\n").count == 4)
        #expect(try add().output.split(separator: "\n").count == 2)
    }

    @Test func `the hint for an existing item names it, not the typed word`() throws {
        let home = try IdentityHome()
        func add(_ more: String...) throws -> Tool.Result {
            try Tool.keyfob(["identity", "import", home.file("two.p12")] + more, environment: home.environment).run()
        }
        try makeTwo(home, named: ("one", "two"))
        try #require(add().status == 0)
        let both = try add("--name", "one")
        #expect(both.status == 4 && both.error.contains("nothing was imported as \"one-1\""), "\(both.error)")
        #expect(both.error.contains("Leave out --name\n    Or remove it first: keyfob identity rm one\n"), "\(both.error)")
        #expect(try add().output.hasPrefix("Unchanged"))
        // A name selects a whole pair.
        func addOne(_ name: String) throws -> Tool.Result {
            try home.keyfob("identity", "import", home.file("a.key"), home.file("a.pem"), "--name", name)
        }
        #expect(try addOne("other").error.contains("Use that name: --name one\n    Or remove it first:"))
        // An older version is put back into use.
        try home.makeSelfSigned("new")
        let files = [home.file("new.key"), home.file("new.pem")]
        try #require(home.keyfob("identity", "import", files[0], files[1], "--name", "one", "--replace").status == 0)
        let older = try addOne("one")
        let command = try #require(older.error.firstMatch(of: #/keyfob identity use (one@[0-9.-]+)\n/#), "\(older.error)")
        #expect(older.status == 4 && !older.error.contains("--name"), "\(older.error)")
        #expect(try home.keyfob("identity", "use", String(command.output.1)).status == 0)
        #expect(try addOne("one").output.hasPrefix("Unchanged"))
    }

    @Test func `a file without an integrity check is not reported as checked`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("c")
        try home.shell("openssl pkcs8 -topk8 -nocrypt -in c.key -outform DER -out c.p8")
        let odd = try Data(contentsOf: URL(fileURLWithPath: home.file("c.p8")))
        try makeTwo(home, named: ("a", "b"), [.key(odd)])
        let result = try home.keyfob("identity", "import", home.file("two.p12"))
        #expect(result.output.contains("3 private keys, 2 certificates, without an integrity check"), "\(result.output)")
        #expect(result.output.contains("Not imported: 1 private key without a certificate."))
    }
}
