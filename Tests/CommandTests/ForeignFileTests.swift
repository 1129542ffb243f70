import Foundation
import TestSupport
import Testing

/// Keys and certificates that are valid and rare.
@Suite(.timeLimit(.minutes(30)))
struct ForeignFileTests {
    /// An arc of X.667: a UUID as a number, which does not fit into 64 bits.
    private let large = "2.25.329800735698586629295641978511506172918"

    @Test func `a key of three primes is refused, because tokens store two`() throws {
        let home = try IdentityHome()
        try home.shell(
            """
            openssl genrsa -primes 3 -out a.key 2048 2>/dev/null
            openssl req -x509 -key a.key -subj /CN=a -days 9 -out a.pem
            """)
        let result = try home.keyfob("identity", "import", home.file("a.key"), home.file("a.pem"), "--extractable")
        #expect(result.status != 0 && result.error.contains("RSA with more than two primes"), "\(result.error)")
        #expect(try home.keyfob("key", "ls", "--format", "tsv").output.isEmpty)
    }

    @Test(arguments: [("ed25519", true), ("ec", false)])
    func `a key marked extractable that cannot leave the token is reported`(row: (type: String, isKept: Bool)) throws {
        let home = try IdentityHome()
        let made = try home.keyfob("key", "generate", "k", "--type", row.type, "--extractable")
        #expect(made.status == 0 && made.output.contains("does not export Ed25519 keys: \"k\"") == row.isKept, "\(made)")
    }

    @Test func `an authority for some usages issues for no others, with any identifiers of them`() throws {
        let home = try IdentityHome()
        try home.shell(
            """
            openssl ecparam -name prime256v1 -genkey -noout -out k.pem
            openssl req -x509 -key k.pem -subj /CN=ca -days 99 -addext 'extendedKeyUsage=codeSigning,\(large)' \
                -addext '\(large)=DER:0500' -out c.pem
            """)
        let imported = try home.keyfob("identity", "import", home.file("k.pem"), home.file("c.pem"), "--name", "ca")
        #expect(imported.status == 0, "\(imported.error)")
        #expect(try home.keyfob("cert", "show", "ca").output.contains(large))
        let renewed = try home.keyfob("identity", "renew", "ca", "--self-signed", "--force", "--json")
        #expect(renewed.status == 0, "\(renewed.error)")
        #expect(try home.keyfob("cert", "show", "ca").output.contains(large))
        let issued = try home.keyfob(
            "identity", "create", "leaf", "--cn", "leaf", "--dns", "a.example", "--issuer", "ca")
        #expect(issued.status != 0 && issued.output.isEmpty, "\(issued.output)")
        #expect(try !home.keyfob("identity", "ls", "--format", "tsv").output.contains("leaf"))
    }

    @Test(arguments: [("251", "fb"), ("-5", "-05")])
    func `a serial number is shown as a plain number`(_ number: String, _ text: String) throws {
        let home = try IdentityHome()
        try home.shell(
            """
            openssl ecparam -name prime256v1 -genkey -noout -out k.pem
            openssl req -x509 -key k.pem -subj /CN=ca -days 99 -set_serial \(number) -out c.pem
            """)
        let imported = try home.keyfob("cert", "import", home.file("c.pem"), "--name", "ca")
        try #require(imported.status == 0, "\(imported.error)")
        let lines = try home.keyfob("cert", "show", "ca").output.split(separator: "\n")
        let line = try #require(lines.first { $0.hasPrefix("serial") })
        #expect(line.split(separator: " ").last == text[...])
        let document = try IdentityHome.json(home.keyfob("cert", "show", "ca", "--json"))
        #expect(document["serial"] as? String == text, "\(document)")
    }

    @Test func `the certificate between an authority's old key and its new one is kept`() throws {
        let home = try IdentityHome()
        try home.shell(
            """
            for name in old new leaf; do openssl ecparam -name prime256v1 -genkey -noout -out $name.key; done
            openssl req -x509 -key old.key -subj /CN=Root -days 99 -out root.pem
            printf 'basicConstraints=critical,CA:TRUE\\nsubjectKeyIdentifier=hash\\n' >ca.cnf
            printf 'authorityKeyIdentifier=keyid\\n' >leaf.cnf
            openssl req -new -key new.key -subj /CN=Root -out new.csr
            openssl x509 -req -in new.csr -CA root.pem -CAkey old.key -set_serial 7 -days 90 -extfile ca.cnf \\
                -out roll.pem
            openssl req -new -key leaf.key -subj /CN=leaf -out leaf.csr
            openssl x509 -req -in leaf.csr -CA roll.pem -CAkey new.key -set_serial 8 -days 80 -extfile leaf.cnf \\
                -out leaf.pem
            cat leaf.key leaf.pem roll.pem >all.pem
            """)
        let imported = try home.keyfob("identity", "import", home.file("all.pem"), "--name", "web")
        #expect(imported.status == 0, "\(imported.error)")
        let verified = try home.keyfob("cert", "verify", "web", "--ca", home.file("root.pem"))
        #expect(verified.status == 0, "\(verified.error)")
        let chain = try home.keyfob("cert", "export", "web", "--chain").output
        #expect(chain.components(separatedBy: "BEGIN CERTIFICATE").count == 3)
    }

    @Test func `the second certificate of one issuer and number is refused with the reason`() throws {
        let home = try IdentityHome()
        try home.shell(
            """
            for name in a b; do
                openssl ecparam -name prime256v1 -genkey -noout -out $name.key
                openssl req -x509 -key $name.key -subj /CN=same -set_serial 1 -days 99 -out $name.pem
            done
            """)
        let (key, certificate) = (home.file("b.key"), home.file("b.pem"))
        #expect(try home.keyfob("identity", "import", home.file("a.key"), home.file("a.pem")).status == 0)
        for command in [["identity", "import", key, certificate], ["cert", "import", certificate]] {
            let result = try Tool.keyfob(command, environment: home.environment).run()
            #expect(result.status == 4 && result.error.contains("serial number"), "\(result.error)")
            #expect(result.error.contains("keyfob cert rm") && !result.error.contains("--replace"), "\(result.error)")
        }
    }

    @Test func `a certificate that OpenSSL's trust follows, even distrust, is neither taken nor skipped`() throws {
        let home = try IdentityHome()
        try home.makeWeb()
        try home.shell(
            """
            for name in root r10; do openssl x509 -in $name.pem -trustout -addreject serverAuth -out $name.trusted; done
            grep -q TRUSTED r10.trusted
            cat web.key web.pem r10.trusted >all.pem
            """)
        for command in [
            ["identity", "import", home.file("all.pem")], ["cert", "import", home.file("r10.trusted")],
            ["trust", "add", home.file("root.trusted")],
            ["cert", "verify", home.file("web.pem"), "--ca", home.file("root.trusted")],
        ] {
            let result = try Tool.keyfob(command, environment: home.environment).run()
            #expect(result.status == 9 && result.error.contains("openssl x509"), "\(command): \(result.error)")
        }
        #expect(try home.keyfob("cert", "ls", "--format", "tsv").output.isEmpty)
    }

    @Test(arguments: [
        "s/BEGIN CERTIFICATE/BEGIN CERTIFICATF/", "s/-----BEGIN/----BEGIN/", "s/END CERTIFICATE/END CERTIFICATF/",
    ])
    func `a bundle with a damaged certificate is not imported without it`(change: String) throws {
        let home = try IdentityHome()
        try home.makeWeb()
        try home.shell("sed '\(change)' r10.pem >bad.pem; cat web.pem bad.pem root.pem >all.pem")
        let result = try home.keyfob("cert", "import", home.file("all.pem"))
        #expect(result.status == 9 && result.error.contains("damaged"), "\(result.output)\(result.error)")
        #expect(try home.keyfob("cert", "ls", "--format", "tsv").output.isEmpty)
    }

    @Test func `a file that is not a key needs no passphrase`() throws {
        let home = try IdentityHome()
        try home.makeWeb()
        try home.shell("openssl req -new -key web.key -subj /CN=a -outform der -out csr.der")
        let result = try home.keyfob("identity", "import", home.file("web.key"), home.file("csr.der"))
        #expect(result.status == 9, "\(result.error)")
    }

    @Test(arguments: ["des", "des3", "aes256", "seed", "camellia128"])
    func `the old encryption of PEM is decrypted with all of its ciphers`(cipher: String) throws {
        let home = try IdentityHome()
        try home.makeWeb()
        try home.shell(
            """
            openssl pkey -in web.key -traditional -\(cipher) -passout file:pass -provider default -provider legacy \\
                -out old.pem
            grep -q DEK-Info old.pem
            """)
        let result = try home.keyfob(
            "identity", "import", home.file("old.pem"), home.file("web.pem"), "--pass-source",
            "file:" + home.file("pass"))
        #expect(result.status == 0, "\(result.error)")
    }

    /// The example of RFC 8410 10.3.
    @Test func `a private key stored with its public half is read`() throws {
        let home = try IdentityHome()
        try home.shell(
            """
            cat >v2.pem <<END
            -----BEGIN PRIVATE KEY-----
            MHICAQEwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
            oB8wHQYKKoZIhvcNAQkJFDEPDA1DdXJkbGUgQ2hhaXJzgSEAGb9ECWmEzf6FQbrB
            Z9w7lshQhqowtrbLDFw4rXAxZuE=
            -----END PRIVATE KEY-----
            END
            cat >v1.pem <<END
            -----BEGIN PRIVATE KEY-----
            MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
            -----END PRIVATE KEY-----
            END
            openssl req -x509 -key v1.pem -subj /CN=a -days 9 -out a.pem
            """)
        let result = try home.keyfob("identity", "import", home.file("v2.pem"), home.file("a.pem"), "--name", "a")
        #expect(result.status == 0, "\(result.error)")
        let key = "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE="
        #expect(try home.keyfob("key", "pub", "a").output.contains(key))
    }
}
