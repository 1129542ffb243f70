import TestSupport
import Testing

@testable import KeyfobCLI

@Suite struct URITests {
    @Test(arguments: Programs.all.filter { $0.usesEngine }.map { $0.name } + ["java", "nss", "ssh"])
    func `if a program supports no Ed25519 keys, the key itself is reported`(program: String) throws {
        let home = try IdentityHome()
        let made = try home.keyfob("identity", "create", "ed", "--cn", "ed", "--self-signed", "--key", "ed25519")
        try #require(made.status == 0, "\(made.error)")
        let told = try home.keyfob("uri", "ed", "--for", program)
        #expect(told.status == 8 && told.error.contains("not Ed25519 keys"), "\(told.output)\(told.error)")
        #expect(told.error.contains("keyfob key generate NAME --type ec"), "\(told.error)")
    }

    @Test func `a certificate that is not valid now is detected before a program is started`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("old", days: -3)
        try home.shell(
            """
            {
            openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout early.key -out early.csr -subj /CN=early
            : > index
            openssl ca -batch -selfsign -notext -config ca.conf -keyfile early.key -in early.csr -out early.pem \
                -startdate 20990101000000Z -enddate 20990201000000Z
            } >openssl.log 2>&1 || { cat openssl.log; exit 1; }
            """)
        let programs = ["gnutls", "java"] + (OpenSSLEngine.path == nil ? [] : ["openssl", "curl", "nginx"])
        for (name, code) in [("old", "cert.expired"), ("early", "cert.not_yet_valid")] {
            let imported = try home.keyfob(
                "identity", "import", home.file(name + ".key"), home.file(name + ".pem"), "--name", name,
                "--allow-expired")
            try #require(imported.status == 0, "\(imported.error)")
            for program in programs {
                let checked = try home.keyfob("uri", name, "--for", program, "--check", "--json")
                #expect(checked.status == 11, "\(program): \(checked.output)\(checked.error)")
                #expect(try IdentityHome.code(checked) == code, "\(program): \(checked.error)")
                // A peer of the user's own may not check it.
                let printed = try home.keyfob("uri", name, "--for", program)
                #expect(printed.status == 0 && printed.output.contains("# certificate \"\(name)\" "), "\(printed)")
            }
            // It is not one of the program's.
            let key = try home.keyfob("uri", name, "--for", "ssh")
            #expect(key.status == 0 && !key.output.contains("# certificate"), "\(key)")
        }
        let checked = try home.keyfob("uri", "old", "--for", "gnutls", "--check")
        #expect(checked.error.hasPrefix("keyfob: certificate \"old\" expired on "), "\(checked.error)")
        #expect(checked.error.contains("keyfob identity import FILE --name old --replace"), "\(checked.error)")
    }

    @Test func `no URI is printed for a missing object`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("own")
        let commands = [
            ["key", "generate", "pair"], ["key", "generate", "secret", "--type", "aes"],
            ["identity", "create", "web", "--cn", "web", "--self-signed"],
            ["cert", "import", home.file("own.pem"), "--name", "alone"],
        ]
        for command in commands {
            let made = try Tool.keyfob(command, environment: home.environment).run()
            try #require(made.status == 0, "\(command): \(made.error)")
        }
        let rows = [
            ("pair", "cert", false), ("pair", "public", true), ("pair", "private", true),
            ("secret", "cert", false), ("secret", "public", false), ("secret", "private", false),
            ("alone", "cert", true), ("alone", "public", false), ("alone", "private", false),
            ("web", "cert", true), ("web", "public", true), ("web", "private", true),
        ]
        for (name, type, isThere) in rows {
            let told = try home.keyfob("uri", name, "--type", type)
            #expect(told.status == (isThere ? 0 : 3), "\(name) \(type): \(told.output)\(told.error)")
            #expect(told.output.contains("type=\(type)") == isThere, "\(name) \(type): \(told.output)")
        }
    }
}
