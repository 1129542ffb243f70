import Foundation
import TestSupport
import Testing

/// Names, passphrases and unusual parts of imported PKCS#12 files.
@Suite struct ImportedFileTests {
    /// Makes `NAME.p12` from the identity `NAME` of `makeSelfSigned`, encrypted with the passphrase in `pass`.
    private func makeFile(_ home: IdentityHome, _ name: String, called friendlyName: String? = nil) throws {
        try home.makeSelfSigned(name)
        try home.shell(
            """
            openssl pkcs12 -export -inkey \(name).key -in \(name).pem -passout file:pass -out \(name).p12 \
                ${CALLED:+-name "$CALLED"}
            """, environment: ["CALLED": friendlyName ?? ""])
    }

    /// Runs a command with the passphrase of `makeFile`.
    private func keyfob(_ home: IdentityHome, _ words: String...) throws -> Tool.Result {
        try Tool.keyfob(words + ["--pass-source", "file:" + home.file("pass")], environment: home.environment).run()
    }

    private func names(_ home: IdentityHome) throws -> [String] {
        try home.keyfob("identity", "ls", "--format", "tsv").output.split(separator: "\n").dropFirst()
            .compactMap { $0.split(separator: "\t").first.map(String.init) }
    }

    @Test func `an identity keeps its name through an export and an import, with any characters`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("web")
        for name in ["web€", "漢字", "web😀", "é"] {
            let made = try home.keyfob(
                "identity", "import", home.file("web.key"), home.file("web.pem"), "--name", name, "--extractable")
            #expect(made.status == 0, "\(made.error)")
            let exported = try keyfob(home, "identity", "export", name, "-o", home.file("out.p12"))
            #expect(exported.status == 0, "\(exported.error)")
            #expect(try home.keyfob("identity", "rm", name, "--yes").status == 0)
            #expect(try keyfob(home, "identity", "import", home.file("out.p12")).status == 0)
            #expect(try names(home) == [name])
            #expect(try home.keyfob("identity", "rm", name, "--yes").status == 0)
        }
    }

    @Test func `a passphrase that no file can have is reported as such`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("web")
        try home.shell("(umask 77; printf 'a\\0b\\n' >nul)")
        let made = try home.keyfob(
            "identity", "import", home.file("web.key"), home.file("web.pem"), "--name", "web", "--extractable")
        #expect(made.status == 0, "\(made.error)")
        let result = try home.keyfob(
            "identity", "export", "web", "-o", home.file("out.p12"), "--pass-source", "file:" + home.file("nul"))
        #expect(result.status == 2 && result.error.contains("NUL"), "\(result.error)")
        #expect(!result.error.contains("Get the file again"))
    }

    @Test(arguments: ["env:PASSPHRASE", "stdin", "fd:3", "'cmd:cat once && rm once'"])
    func `a source that gives its passphrase once is used for every file`(source: String) throws {
        let home = try IdentityHome()
        for name in ["a", "b", "c"] { try makeFile(home, name, called: name) }
        func run(_ command: String) throws {
            try home.shell(
                "cp pass once; \"$KEYFOB\" \(command) a.p12 b.p12 c.p12 --pass-source \(source) <pass 3<pass",
                environment: ["KEYFOB": Tool.keyfob([]).path, "PASSPHRASE": "secret"])
        }
        try run("cert import")
        try run("identity import")
        #expect(try names(home).sorted() == ["a", "b", "c"])
    }

    @Test func `the name in a file renames no existing identity`() throws {
        let home = try IdentityHome()
        try makeFile(home, "a", called: "b")
        try home.makeSelfSigned("b")
        #expect(try keyfob(home, "identity", "import", home.file("a.p12"), "--name", "a").status == 0)
        let other = try home.keyfob("identity", "import", home.file("b.key"), home.file("b.pem"), "--name", "b")
        #expect(other.status == 0, "\(other.error)")
        let result = try keyfob(home, "identity", "import", home.file("a.p12"), "--replace")
        #expect(result.status == 0, "\(result.error)")
        #expect(result.output.hasPrefix("Unchanged: identity \"a\""), "\(result.output)")
        #expect(try names(home).sorted() == ["a", "b"])
    }

    @Test func `nothing is imported under a name that every other command reads as a URI`() throws {
        let home = try IdentityHome()
        try makeFile(home, "web", called: "pkcs11:web")
        for command in ["identity", "cert"] {
            let result = try keyfob(home, command, "import", home.file("web.p12"), "--name", "pkcs11:foo")
            #expect(result.status == 2 && result.error.contains("URI"), "\(result.error)")
        }
        let trusted = try home.keyfob("trust", "add", home.file("web.pem"), "--name", "pkcs11:foo")
        #expect(trusted.status == 2 && trusted.error.contains("URI"), "\(trusted.error)")
        #expect(try keyfob(home, "identity", "import", home.file("web.p12")).status == 0)
        #expect(try names(home) == ["web"])
    }

    @Test func `a certificate whose own name reads as a URI gets another name, or none`() throws {
        let home = try IdentityHome()
        try home.shell(
            """
            make() {
                openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $1.key -out $1.pem \
                    -days 9 -subj "/CN=pkcs11:$1${2-}" ${3-} ${4-} 2>/dev/null
            }
            make web "" -addext subjectAltName=DNS:web.example
            make ca /O=Corp
            make anchor
            openssl pkcs12 -export -inkey web.key -in web.pem -passout file:pass -out web.p12
            """)
        for words in [["identity", "import", home.file("web.p12"), "--pass-source", "file:" + home.file("pass")],
            ["cert", "import", home.file("ca.pem")], ["trust", "add", home.file("anchor.pem"), "--yes"]]
        {
            let result = try Tool.keyfob(words, environment: home.environment).run()
            #expect(result.status == 0, "\(result.error)")
        }
        #expect(try names(home) == ["web.example"])
        let listed = try home.keyfob("cert", "ls", "--format", "tsv").output.split(separator: "\n").dropFirst()
        let labels = listed.compactMap { $0.split(separator: "\t", omittingEmptySubsequences: false).first }
        #expect(labels.sorted() == ["", "Corp", "web.example"])
        #expect(try home.keyfob("cert", "show", "Corp").status == 0)
    }

    @Test(arguments: ["-algorithm X25519", "-algorithm ED448", "-algorithm EC -pkeyopt ec_paramgen_curve:P-224"])
    func `a key that no token accepts does not prevent the import of the rest of its file`(kind: String) throws {
        let home = try IdentityHome()
        for name in ["a", "b"] { try home.makeSelfSigned(name) }
        try home.shell(
            """
            openssl genpkey \(kind) | openssl pkcs8 -topk8 -nocrypt -outform DER -out odd.der
            openssl pkcs8 -topk8 -nocrypt -in a.key -outform DER -out a.der
            for name in a b; do openssl x509 -in $name.pem -outform DER -out $name.crt; done
            """)
        func data(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: home.file(name))) }
        let odd = HandmadePKCS12.Bag.key(try data("odd.der"))
        try home.directory.write(HandmadePKCS12.file([odd, .certificate(try data("b.crt"))]), to: "cert.p12")
        try home.directory.write(
            HandmadePKCS12.file([odd, .key(try data("a.der")), .certificate(try data("a.crt"))]), to: "both.p12")
        let certificate = try home.keyfob("cert", "import", home.file("cert.p12"))
        #expect(certificate.status == 0 && certificate.output.contains("was ignored"), "\(certificate.error)")
        let identity = try home.keyfob("identity", "import", home.file("both.p12"))
        #expect(identity.status == 0, "\(identity.error)")
        #expect(identity.output.contains("Not imported: 1 private key without a certificate."), "\(identity.output)")
    }

    @Test func `a file without any certificate has nothing for cert import`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("web")
        try home.shell("openssl pkcs12 -export -inkey web.key -nocerts -passout file:pass -out key.p12")
        let result = try keyfob(home, "cert", "import", home.file("key.p12"))
        #expect(result.status == 3 && result.error.contains("key.p12 contains no certificate"), "\(result.error)")
    }

    @Test func `PKCS12 is accepted for every key argument, also in PEM`() throws {
        let home = try IdentityHome()
        try makeFile(home, "web", called: "web")
        try home.shell(
            "(echo -----BEGIN PKCS12-----; openssl base64 -in web.p12; echo -----END PKCS12-----) >pem.txt")
        for words in [
            ["--key", "web.p12"], ["--key", "web.p12", "--cert", "web.pem"], ["pem.txt"], ["--key", "pem.txt"],
        ] {
            let result = try Tool.keyfob(
                ["identity", "import", "--name", "web", "--pass-source", "file:" + home.file("pass")]
                    + words.map { $0.hasPrefix("--") ? $0 : home.file($0) }, environment: home.environment
            ).run()
            #expect(result.status == 0 && result.output.contains("\"web\""), "\(words): \(result.error)")
            #expect(try home.keyfob("identity", "rm", "web", "--yes").status == 0)
        }
        let cert = try keyfob(home, "cert", "import", home.file("pem.txt"))
        #expect(cert.status == 0, "\(cert.error)")
    }

    @Test func `the other contents of a PEM file with PKCS12 are imported too`() throws {
        let home = try IdentityHome()
        for name in ["a", "b", "c"] { try makeFile(home, name, called: name) }
        // The first character of the text is the one that starts a sequence in DER.
        try home.shell(
            """
            pem() { echo -----BEGIN PKCS12-----; openssl base64 -in $1.p12; echo -----END PKCS12-----; }
            (echo 0 files; pem a; cat b.key b.pem; pem c) >all.pem
            (echo 0 files; pem a) >one.pem
            """)
        let one = try keyfob(home, "cert", "import", home.file("one.pem"))
        #expect(one.status == 0 && one.output.contains("\"a\""), "\(one.error)")
        let certificates = try keyfob(home, "cert", "import", home.file("all.pem"), "--json")
        #expect(certificates.output.components(separatedBy: "\"new\":true").count == 3, "\(certificates.error)")
        #expect(try names(home).isEmpty)
        let identities = try keyfob(home, "identity", "import", home.file("all.pem"))
        #expect(identities.status == 0, "\(identities.error)")
        #expect(try names(home).sorted() == ["a", "b", "c"])
    }

    @Test func `an error after the first of several identities says which were imported`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("a")
        // Two certificates of the same issuer and number, of which the token accepts one.
        try home.shell(
            """
            for name in b other; do
                openssl ecparam -name prime256v1 -genkey -noout -out $name.key
                openssl req -x509 -key $name.key -subj /CN=b -set_serial 7 -days 99 -out $name.pem
            done
            cat a.key b.key a.pem b.pem >both.pem
            """)
        #expect(try home.keyfob("identity", "import", home.file("other.key"), home.file("other.pem")).status == 0)
        let result = try home.keyfob("identity", "import", home.file("both.pem"), "--name", "n")
        #expect(result.status == 4 && result.error.contains("Imported before that: \"n-1\"."), "\(result.error)")
    }

    @Test func `an RSA key that is never accepted gets a remedy`() throws {
        let home = try IdentityHome()
        try home.shell(
            """
            for bits in 1024 2048; do
                openssl req -x509 -newkey rsa:$bits -nodes -keyout $bits.key -out $bits.pem -days 90 -subj /CN=$bits
            done 2>/dev/null
            """)
        func imported(_ bits: String, _ options: String...) throws -> Tool.Result {
            let words = ["identity", "import", home.file(bits + ".key"), home.file(bits + ".pem"), "--name", "k" + bits]
            return try Tool.keyfob(words + options, environment: home.environment).run()
        }
        let weak = try imported("1024")
        #expect(weak.status == 0 && weak.output.contains("\nNote: RSA of 1024 bits is too weak: "), "\(weak)")
        let command = "keyfob identity renew k1024 --force --key rsa --self-signed"
        #expect(weak.output.contains("Or renew it: \(command)\n"), "\(weak.output)")
        let quiet = try imported("1024", "--json")
        #expect(quiet.status == 0 && !quiet.output.contains("Note:"), "\(quiet)")
        let strong = try imported("2048")
        #expect(strong.status == 0 && !strong.output.contains("Note: RSA"), "\(strong)")

        // The remedy for the certificate is the same, and works.
        let checked = try home.keyfob("identity", "check", "k1024")
        #expect(checked.status == 11 && checked.output.contains(command), "\(checked.output)")
        let renewed = try home.keyfob("identity", "renew", "k1024", "--force", "--key", "rsa", "--self-signed")
        #expect(renewed.status == 0, "\(renewed.error)")
        #expect(try home.keyfob("identity", "check", "k1024").status == 0)
    }

    @Test(arguments: [
        ("openssl pkcs12 -export -inkey slow.key -in slow.pem -iter 6000000 -out slow.p12", "slow.p12"),
        ("openssl pkcs8 -topk8 -in slow.key -iter 15000000 -out encrypted.key", "encrypted.key slow.pem"),
    ])
    func `a wait for a file to open is reported`(command: String, names: String) throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("slow")
        try home.shell(command + " -passout file:pass")
        let files = names.split(separator: " ").map { home.file(String($0)) }
        let words = ["identity", "import", "--name", "slow", "--progress", "always"] + files
        let result = try Tool.keyfob(
            words + ["--pass-source", "file:" + home.file("pass")], environment: home.environment
        ).run()
        #expect(result.status == 0, "\(result.error)")
        let file = names.split(separator: " ")[0]
        #expect(result.error.contains("keyfob: waiting for \(file) to open…\n"), "\(result.error)")
    }

    @Test func `the place for a key is named only if there is a key`() throws {
        let home = try IdentityHome()
        for name in ["one", "two"] { try home.makeSelfSigned(name) }
        func told() throws -> String {
            try home.keyfob("identity", "import", home.file("one.key"), home.file("two.pem"), "--name", "n").error
        }
        #expect(try told().contains("That key is not in the keychain either.\n"))
        try #require(
            home.keyfob("identity", "import", home.file("two.key"), home.file("two.pem"), "--name", "two").status == 0)
        let error = try told()
        let found = try #require(error.firstMatch(of: /keyfob (key ls --pub sha256:[0-9a-f]{16})\n/), "\(error)")
        let list = try Tool.keyfob(found.1.split(separator: " ").map(String.init), environment: home.environment).run()
        #expect(list.status == 0 && list.output.contains("two"), "\(list)")
    }

    @Test func `every command recognises a certificate request`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("web")
        let (request, key) = (home.file("web.csr"), home.file("web.key"))
        let commands = [
            ["identity", "import", request, key], ["identity", "import", key, request], ["cert", "import", request],
            ["identity", "import", "--key", key, "--cert", request],
        ]
        for command in commands {
            let refused = try Tool.keyfob(command, environment: home.environment).run()
            #expect(refused.status == 9, "\(command): \(refused.error)")
            #expect(refused.error.hasPrefix("keyfob: web.csr cannot be used: it is a certificate request"), "\(refused.error)")
        }
    }

    @Test func `a key that the token does not export is named, with its possible uses`() throws {
        let home = try IdentityHome()
        try home.shell(
            """
            openssl genpkey -algorithm ed25519 -out ed.key
            openssl req -x509 -key ed.key -subj /CN=ed -days 90 -out ed.pem
            """)
        let imported = try home.keyfob(
            "identity", "import", home.file("ed.key"), home.file("ed.pem"), "--name", "my ed", "--extractable")
        try #require(imported.status == 0, "\(imported.error)")
        let refused = try keyfob(home, "identity", "export", "my ed", "-o", home.file("ed.p12"))
        #expect(refused.status == 8, "\(refused)")
        #expect(refused.error.contains("key \"my ed\" (Ed25519) cannot leave token \"login\""), "\(refused.error)")
        #expect(refused.error.contains("Use it in place: keyfob uri 'my ed'\n"), "\(refused.error)")
    }
}
