import Foundation
import TestSupport
import Testing

/// Unusual but valid files, as other programs and editors make them.
@Suite struct OddFileTests {
    private func names(_ home: IdentityHome) throws -> [String] {
        try home.keyfob("identity", "ls", "--format", "tsv").output.split(separator: "\n").dropFirst()
            .compactMap { $0.split(separator: "\t", omittingEmptySubsequences: false).first.map(String.init) }
    }

    @Test(arguments: [
        ("/CN= ", "DNS:web.example,DNS:www.example", "web.example"), ("/CN=   ", "DNS:web.example", "web.example"),
        ("/emailAddress=ops@web.example/CN= ", "DNS:web.example", "web.example"),
        ("/O=Example/CN= ", "email:ops@web.example", "ops@web.example"), ("/O=Example/CN= ", "", "Example"),
        ("/CN= ", "", "identity"), ("/CN=\u{200B}\t", "DNS:web.example", "web.example"),
    ])
    func `a blank common name is replaced by another name`(
        _ subject: String, _ alternatives: String, _ expected: String
    ) throws {
        let home = try IdentityHome()
        try home.shell(
            """
            openssl req -x509 -utf8 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout a.key -out a.pem \
                -days 9 -subj "$SUBJECT" ${NAMES:+-addext "subjectAltName=$NAMES"} 2>openssl.log
            openssl pkcs12 -export -in a.pem -inkey a.key -out a.p12 -name '  ' -passout file:pass
            """, environment: ["SUBJECT": subject, "NAMES": alternatives])
        let files = try home.keyfob("identity", "import", home.file("a.key"), home.file("a.pem"), "--dry-run")
        #expect(files.output.contains("Would import identity \"\(expected)\""), "\(files)")
        let imported = try home.keyfob(
            "identity", "import", home.file("a.p12"), "--pass-source", "file:" + home.file("pass"))
        #expect(imported.output.contains("Identity \"\(expected)\" is ready."), "\(imported)")
        #expect(try names(home) == [expected])
        #expect(try home.keyfob("identity", "rm", expected, "--yes").status == 0)
        let stored = try home.keyfob("cert", "import", home.file("a.pem"))
        #expect(stored.status == 0, "\(stored)")
        #expect(!stored.output.contains(/certificate "\s*"/), "\(stored)")
        let blank = try home.keyfob("identity", "import", home.file("a.key"), home.file("a.pem"), "--name", " ")
        #expect(blank.status == 2, "\(blank)")
    }

    @Test(arguments: [
        "s/^/    /", "s/^/\\t/", "s/$/\\r/", "s/^/  /;s/$/\\r/", "s/$/  /", "1i key: |\ns/^/  /", "1i Any text:\n",
        "/^Proc/i X-Mailer: mutt\n",
    ])
    func `a key under the old encryption of PEM opens in any layout of the text`(_ edit: String) throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("a")
        try home.shell(
            """
            openssl ec -in a.key -aes256 -passout file:pass -out sealed.pem 2>openssl.log
            grep -q ^DEK-Info: sealed.pem
            sed "$EDIT" sealed.pem > key.pem
            sed "$EDIT" a.pem > certificate.pem
            """, environment: ["EDIT": edit])
        let result = try home.keyfob(
            "identity", "import", home.file("key.pem"), home.file("certificate.pem"), "--pass-source",
            "file:" + home.file("pass"))
        #expect(result.status == 0, "\(result.error)")
        #expect(try names(home) == ["a"])
    }

    @Test(arguments: ["old new", "new old"], [true, false])
    func `if a key has an expired and a current certificate, the current one is used`(
        _ order: String, _ isPKCS12: Bool
    ) throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("old", commonName: "web", days: -3)
        try home.shell(
            """
            openssl req -x509 -key old.key -subj /CN=web -days 9 -out new.pem
            for name in \(order); do cat $name.pem; done > both.pem
            openssl pkcs12 -export -inkey old.key -in both.pem -out both.p12 -name web -passout file:pass
            """)
        let files = isPKCS12 ? [home.file("both.p12")] : [home.file("old.key"), home.file("both.pem")]
        let result = try Tool.keyfob(
            ["identity", "import"] + files + ["--pass-source", "file:" + home.file("pass")],
            environment: home.environment
        ).run()
        #expect(result.status == 0, "\(result.error)")
        #expect(result.output.contains("Identity \"web\" is ready."), "\(result.output)")
        #expect(
            result.output.contains("Not imported: 1 certificate that a newer one of the same key replaces."),
            "\(result.output)")
        #expect(try names(home) == ["web"])
        let exported = try home.keyfob("cert", "export", "web")
        let current = try String(contentsOfFile: home.file("new.pem"), encoding: .utf8)
        #expect(exported.output.contains(current), "\(exported)")
    }

    @Test func `a key and a certificate on one curve match, with a named curve or its parameters`() throws {
        let home = try IdentityHome()
        try home.shell(
            """
            openssl ecparam -name prime256v1 -genkey -noout -param_enc explicit -out e.key
            openssl ec -in e.key -param_enc named_curve -out n.key 2>openssl.log
            for name in e n; do openssl req -x509 -key $name.key -subj /CN=web -days 9 -out $name.pem; done
            """)
        for (key, certificate) in [("e", "e"), ("e", "n"), ("n", "e")] {
            let files = [home.file(key + ".key"), home.file(certificate + ".pem")]
            let result = try home.keyfob("identity", "import", files[0], files[1], "--name", key + certificate)
            #expect(result.status == 0, "\(result.error)")
            let check = try home.keyfob("identity", "check", key + certificate)
            #expect(check.output.contains("ok  signed a test challenge"), "\(check)")
            #expect(try home.keyfob("identity", "rm", key + certificate, "--yes").status == 0)
        }
    }

    @Test(arguments: ["a.der", "a.pem"])
    func `every command that is given an impossible date names it`(_ form: String) throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("a", begin: "20200101000000Z", days: 90)
        try home.shell(
            """
            openssl x509 -in a.pem -outform DER | LC_ALL=C sed 's/200101000000Z/230229000000Z/' > a.der
            { echo -----BEGIN CERTIFICATE-----; base64 a.der; echo -----END CERTIFICATE-----; } > a.pem
            """)
        let file = home.file(form)
        let commands = [
            ["identity", "import", home.file("a.key"), file], ["cert", "import", file], ["cert", "verify", file],
            ["trust", "add", file, "--yes"],
        ]
        for command in commands {
            let result = try Tool.keyfob(command, environment: home.environment).run()
            #expect(result.status == 9, "\(command): \(result)")
            #expect(result.error.contains("the certificate \"CN=a\" begins at \"230229000000Z\", which is not a date"))
        }
        #expect(try home.keyfob("cert", "ls", "--format", "tsv").output.split(separator: "\n").count <= 1)
    }
}
