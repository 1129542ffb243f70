import Foundation
import TestSupport
import Testing

/// An authority of the keychain signs requests of other machines.
@Suite struct CertificateSignTests {
    /// A home with the authority `root`.
    private static func home() throws -> IdentityHome {
        let home = try IdentityHome()
        let made = try home.keyfob("identity", "create", "root", "--cn", "Root", "--authority", "--self-signed")
        try #require(made.status == 0, "\(made.error)")
        return home
    }

    /// Makes `NAME.csr` with openssl, with these lines of extensions.
    private static func request(
        _ name: String, _ extensions: String..., key: String = "ec -pkeyopt ec_paramgen_curve:P-256",
        in home: IdentityHome
    ) throws {
        let lines = extensions.map { "-addext '\($0)'" }.joined(separator: " ")
        try home.shell(
            """
            openssl req -new -newkey \(key) -nodes -keyout \(name).key -subj /CN=\(name).example.org \(lines) \
                -out \(name).csr 2>openssl.log || { cat openssl.log; exit 1; }
            """)
    }

    private static func sign(_ home: IdentityHome, _ name: String, _ words: String...) throws -> Tool.Result {
        try Tool.keyfob(
            ["cert", "sign", home.file(name + ".csr"), "--issuer", "root", "-o", home.file(name + ".pem")] + words,
            environment: home.environment
        ).run()
    }

    @Test func `a request is signed, and openssl accepts the certificate and those above it`() throws {
        let home = try Self.home()
        try Self.request(
            "web", "subjectAltName=DNS:web.example.org,IP:192.0.2.7", "extendedKeyUsage=clientAuth,serverAuth", in: home)
        let signed = try Self.sign(home, "web")
        #expect(signed.status == 0, "\(signed.error)")
        #expect(signed.output.contains("Wrote web.pem: web.example.org, valid until"), "\(signed.output)")
        let text = try home.shell(
            """
            keyfob="$KEYFOB"; "$keyfob" cert export root -o root.pem >&2
            openssl verify -CAfile root.pem web.pem
            openssl x509 -in web.pem -noout -text
            """, environment: ["KEYFOB": Tool.keyfob([]).path])
        #expect(text.hasPrefix("web.pem: OK"), "\(text)")
        #expect(text.contains("DNS:web.example.org, IP Address:192.0.2.7"))
        #expect(text.contains("TLS Web Client Authentication, TLS Web Server Authentication"))
        #expect(text.contains("CA:FALSE"))
        #expect(try home.shell("grep -c BEGIN web.pem") == "2\n")
    }

    @Test func `a fleet's identities are created and renewed through cert sign`() throws {
        let ca = try Self.home()
        let host = try IdentityHome()
        // As a command over ssh, which starts with the environment of the authority's user.
        try host.shell(
            """
            cat > ca <<END
            #!/bin/sh
            exec env HOME=$CA_HOME XDG_RUNTIME_DIR=$CA_RUN $KEYFOB cert sign - --issuer root --lifetime 20d
            END
            chmod +x ca
            """,
            environment: ["CA_HOME": ca.file("home"), "CA_RUN": ca.file("run"), "KEYFOB": Tool.keyfob([]).path])
        let made = try host.keyfob(
            "identity", "create", "web", "--dns", "web.example.org", "--issuer", "exec:" + host.file("ca"), "--json")
        let document = try IdentityHome.json(made)
        #expect(document["issuer"] as? String == "CN=Root")
        #expect(document["chain_complete"] as? Bool == false)
        let end = try #require((document["not_after"] as? String).flatMap { ISO8601DateFormatter().date(from: $0) })
        #expect((19 * 86_400.0...20 * 86_400).contains(end.timeIntervalSinceNow))
        let renewed = try host.keyfob("identity", "renew", "web", "--force", "--new-key")
        #expect(renewed.status == 0, "\(renewed.error)")
    }

    @Test(arguments: [
        ("basicConstraints=critical,CA:TRUE", "the certificate of an authority"),
        ("keyUsage=keyCertSign", "the certificate of an authority"),
        ("extendedKeyUsage=OCSPSigning", "asks for the usage"),
        ("subjectAltName=otherName:1.3.6.1.4.1.311.20.2.3;UTF8:root@example.org", "a name of an unknown kind"),
    ])
    func `a request for more than a host needs is refused`(extensions: String, reason: String) throws {
        let home = try Self.home()
        try Self.request("evil", extensions, in: home)
        let refused = try Self.sign(home, "evil")
        #expect(refused.status == 12)
        #expect(refused.error.contains(reason), "\(refused.error)")
        #expect(!FileManager.default.fileExists(atPath: home.file("evil.pem")))
    }

    @Test func `other extensions of a request are left out, and options replace names and usages`() throws {
        let home = try Self.home()
        try Self.request(
            "web", "subjectAltName=DNS:bank.example.com", "extendedKeyUsage=codeSigning",
            "nameConstraints=permitted;DNS:example.com", "certificatePolicies=1.2.3.4", in: home)
        let signed = try Self.sign(home, "web", "--dns", "web.example.org", "--usage", "client", "--lifetime", "5d")
        #expect(signed.status == 0, "\(signed.error)")
        let text = try home.shell("openssl x509 -in web.pem -noout -text")
        #expect(text.contains("DNS:web.example.org"))
        #expect(text.contains("TLS Web Client Authentication"))
        for word in ["bank", "Code Signing", "Name Constraints", "1.2.3.4"] { #expect(!text.contains(word), "\(word)") }
    }

    @Test func `a request whose signature, key or name is not acceptable is refused`() throws {
        let home = try Self.home()
        try Self.request("web", in: home)
        // The last octet belongs to the signature.
        try home.shell(
            """
            openssl req -in web.csr -outform der -out web.der
            python3 -c 'd = bytearray(open("web.der", "rb").read()); d[-1] ^= 1; open("bad.csr", "wb").write(d)'
            printf hello > text.csr
            openssl req -new -key web.key -subj /CN=Root -out twin.csr
            """)
        try Self.request("weak", key: "rsa:1024", in: home)
        #expect(try Self.sign(home, "bad").status == 11)
        #expect(try Self.sign(home, "text").status == 9)
        #expect(try Self.sign(home, "twin").error.contains("the name or the key of authority \"root\""))
        #expect(try Self.sign(home, "weak").error.contains("1024 bits"))
        #expect(try home.keyfob("cert", "sign", home.file("web.csr"), "--issuer", "missing").status == 3)
    }

    @Test func `a dry run reports what signing does to the file, and writes none`() throws {
        let home = try Self.home()
        try Self.request("web", in: home)
        func check(_ action: String) throws {
            let dry = try IdentityHome.json(Self.sign(home, "web", "--dry-run", "--json"))
            #expect(dry["action"] as? String == action && dry["changed"] as? Bool == false, "\(dry)")
            #expect(dry["dry_run"] as? Bool == true && dry["authority"] as? String == "root", "\(dry)")
            #expect(dry["pem"] is NSNull && dry["serial"] is NSNull, "\(dry)")
        }
        try check("create")
        #expect(!FileManager.default.fileExists(atPath: home.file("web.pem")))
        try home.shell(": > web.pem")
        try check("update")
        #expect(try home.shell("cat web.pem").isEmpty)
        let signed = try IdentityHome.json(Self.sign(home, "web", "--json"))
        #expect(signed["action"] as? String == "update" && signed["changed"] as? Bool == true, "\(signed)")
        try check("update")
    }

    @Test func `an authority below is signed only with --authority, within the path length`() throws {
        let home = try IdentityHome()
        let root = try home.keyfob(
            "identity", "create", "root", "--cn", "Root", "--authority", "--path-length", "1", "--self-signed")
        try #require(root.status == 0, "\(root.error)")
        try Self.request("below", "basicConstraints=critical,CA:TRUE,pathlen:7", in: home)
        #expect(try Self.sign(home, "below").error.contains("--authority"))
        #expect(try Self.sign(home, "below", "--authority", "--path-length", "1").status == 12)
        #expect(try Self.sign(home, "below", "--authority").status == 0)
        let text = try home.shell("openssl x509 -in below.pem -noout -text -checkend $((4 * 365 * 86400))")
        #expect(text.contains("CA:TRUE, pathlen:0"))
        #expect(text.contains("will not expire"))
    }

    @Test func `the name constraints of the authority apply`() throws {
        let home = try IdentityHome()
        try home.shell(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 30 \
                -subj /CN=Limited -addext 'nameConstraints=critical,permitted;DNS:example.org' 2>openssl.log
            openssl pkcs12 -export -inkey ca.key -in ca.pem -passout file:pass -out ca.p12
            """)
        let imported = try home.keyfob(
            "identity", "import", home.file("ca.p12"), "--name", "root", "--pass-source", "file:" + home.file("pass"))
        try #require(imported.status == 0, "\(imported.error)")
        try Self.request("inside", "subjectAltName=DNS:inside.example.org", in: home)
        #expect(try Self.sign(home, "inside").status == 0)
        try Self.request("outside", "subjectAltName=DNS:outside.example.com", in: home)
        let refused = try Self.sign(home, "outside")
        #expect(refused.status == 2)
        #expect(refused.error.contains("may not issue this certificate"), "\(refused.error)")
    }

    @Test func `a root is valid for 10 years, an authority below for 5, and a host for 90 days`() throws {
        let home = try Self.home()
        for words in [["below", "--authority"], ["web", "--dns", "web.example.org"]] {
            let made = try Tool.keyfob(
                ["identity", "create", words[0], "--cn", words[0], "--issuer", "root"] + words.dropFirst(),
                environment: home.environment
            ).run()
            #expect(made.status == 0, "\(made.error)")
        }
        for (name, days) in [("root", 3650.0), ("below", 1825), ("web", 90)] {
            let shown = try IdentityHome.json(home.keyfob("cert", "show", name, "--json"))
            let end = try #require((shown["not_after"] as? String).flatMap { ISO8601DateFormatter().date(from: $0) })
            #expect(((days - 1) * 86_400...days * 86_400).contains(end.timeIntervalSinceNow), "\(name)")
        }
    }

    @Test func `trusting a certificate that is not an authority's needs a yes`() throws {
        let home = try IdentityHome()
        let made = try home.keyfob("identity", "create", "web", "--dns", "web.example.org", "--self-signed")
        try #require(made.status == 0, "\(made.error)")
        let refused = try home.keyfob("trust", "add", "web")
        #expect(refused.status == 12)
        #expect(refused.error.contains("not an authority"), "\(refused.error)")
        #expect(try home.keyfob("trust", "ls", "--format", "tsv").output.isEmpty)
        #expect(try home.keyfob("trust", "add", "web", "--yes").status == 0)
    }
}
