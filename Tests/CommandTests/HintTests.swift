import Foundation
import TestSupport
import Testing

/// Commands in hints, which must do what the hint says.
@Suite struct HintTests {
    @Test(arguments: [
        ("web$(touch pwned)", "'web$(touch pwned)' --self-signed"), ("my web", "'my web' --self-signed"),
        ("-web", "--self-signed -- -web"),
    ])
    func `a command in a hint names its subject as one word of the shell`(name: String, word: String) throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("old", days: -3)
        let imported = try home.keyfob(
            "identity", "import", home.file("old.key"), home.file("old.pem"), "--name=\(name)", "--allow-expired")
        try #require(imported.status == 0, "\(imported.error)")
        let commands = [
            ["cert", "verify"], ["identity", "check"], ["identity", "create", "--cn", "x", "--self-signed"],
        ]
        for command in commands {
            let result = try Tool.keyfob(command + ["--", name], environment: home.environment).run()
            #expect(result.status != 0, "\(command)")
            let told = result.output + result.error
            #expect(told.contains("keyfob identity renew \(word)\n"), "\(command): \(told)")
        }
    }

    @Test func `the hint for the next certificate depends on how the identity is renewed`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("old", days: -3)
        try home.makeSelfSigned("new")
        let files = ["old", "new"].map { [home.file($0 + ".key"), home.file($0 + ".pem")] }
        try #require(
            home.keyfob("identity", "import", files[0][0], files[0][1], "--name", "old", "--allow-expired").status == 0)
        try #require(home.keyfob("identity", "create", "web", "--cn", "web", "--self-signed").status == 0)
        try home.makeSelfSigned("ca")
        try #require(home.keyfob("cert", "import", home.file("ca.pem"), "--name", "ca").status == 0)

        // One identity has a stored issuer, and the other has none.
        let later = ["cert", "verify", "--at", "2099-01-01"]
        func told(_ arguments: [String]) throws -> String {
            let result = try Tool.keyfob(arguments, environment: home.environment).run()
            return result.output + result.error
        }
        #expect(try told(later + ["web"]).contains("Renew: keyfob identity renew web\n"))
        #expect(
            try told(["identity", "create", "web", "--cn", "x", "--self-signed"])
                .contains("Renew it: keyfob identity renew web\n"))
        let alone = try told(later + ["ca"])
        #expect(alone.contains("Get a new one from the authority above it: keyfob cert import FILE\n"), "\(alone)")
        let advice = try told(["cert", "verify", "old"])
        let replacement = "keyfob identity install old --cert FILE\n    With a new key: "
            + "keyfob identity import FILE --name old --replace"
        #expect(advice.contains("Get a new certificate: \(replacement)\n    Or renew it: "), "\(advice)")
        #expect(advice.contains("keyfob identity renew old --self-signed\n"), "\(advice)")

        let renewed = try home.keyfob("identity", "renew", "old", "--self-signed")
        #expect(renewed.status == 0, "\(renewed.error)")
        #expect(try told(later + ["old"]).contains("Renew: keyfob identity renew old\n"))
        let replaced = try home.keyfob("identity", "import", files[1][0], files[1][1], "--name", "old", "--replace")
        #expect(replaced.status == 0, "\(replaced.error)")
    }

    @Test func `an expired certificate without a key gets a hint to obtain a new one, and none to renew`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("leaf")
        let imported = try home.keyfob("cert", "import", home.file("leaf.pem"), "--name", "leaf")
        try #require(imported.status == 0, "\(imported.error)")
        let expired = try home.keyfob("cert", "verify", "leaf", "--at", "2099-01-01")
        #expect(expired.status == 11)
        #expect(expired.error.contains("Get a new one from the authority above it: keyfob cert import FILE\n"))
        #expect(!expired.error.contains("identity renew"), "\(expired.error)")
    }

    @Test(arguments: [("-web", "--name=-web"), ("my web", "--name 'my web'")])
    func `a value that begins like an option is joined to its option in one word`(name: String, option: String) throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("web")
        let files = [home.file("web.key"), home.file("web.pem")]
        let first = try home.keyfob("identity", "import", files[0], files[1], "--name=" + name)
        try #require(first.status == 0, "\(first.error)")
        let refused = try home.keyfob("identity", "import", files[0], files[1], "--name", "other")
        #expect(refused.status == 4, "\(refused)")
        #expect(refused.error.contains("Use that name: \(option)\n"), "\(refused.error)")
        // The command can be typed.
        let again = try home.shell("'\(Tool.keyfob([]).path)' identity import web.key web.pem \(option)")
        #expect(again.hasPrefix("Unchanged: "), "\(again)")
    }

    @Test func `fetching is proposed only if a certificate names its source, and only before it was tried`() throws {
        let home = try IdentityHome()
        try home.makeWeb()
        try home.shell(
            """
            {
            openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout aia.key -out aia.csr -subj /CN=aia
            printf 'authorityInfoAccess=caIssuers;URI:http://127.0.0.1:1/ca.der\\n' >more
            openssl x509 -req -in aia.csr -CA r10.pem -CAkey r10.key -CAcreateserial -days 9 -extfile more -out aia.pem
            } >openssl.log 2>&1 || { cat openssl.log; exit 1; }
            """)
        for (file, name) in [("web", "plain"), ("aia", "my web")] {
            let imported = try home.keyfob(
                "identity", "import", home.file(file + ".key"), home.file(file + ".pem"), "--name", name)
            try #require(imported.status == 0, "\(imported.error)")
        }
        for command in [["cert", "verify"], ["cert", "chain"], ["identity", "check"]] {
            func told(_ name: String) throws -> String {
                let result = try Tool.keyfob(command + [name], environment: home.environment).run()
                return result.output + result.error
            }
            #expect(try told("plain").contains("keyfob cert import FILE\n"), "\(command)")
            #expect(try told("my web").contains("fetch it: keyfob cert chain 'my web' --fetch\n"), "\(command)")
        }
        let fetched = try home.keyfob("cert", "chain", "plain", "--fetch")
        #expect(fetched.status == 11 && !fetched.error.contains("--fetch"), "\(fetched.error)")
    }

    @Test(arguments: [["-k", "site"], ["-ksite"], ["--keychain=site"], ["--token", "site"]])
    func `a hint names the keychain that the command line named`(selector: [String]) throws {
        let home = try IdentityHome()
        try #require(home.keyfob("keychain", "create", "site", "--unattended").status == 0)
        try home.makeSelfSigned("web")
        let files = [home.file("web.key"), home.file("web.pem")]
        func told(_ arguments: [String]) throws -> String {
            let result = try Tool.keyfob(arguments, environment: home.environment).run()
            return result.output + result.error
        }
        try #require(told(["identity", "import", "--name", "web"] + files + selector).contains("is ready"))
        let rows: [([String], String)] = [
            (["identity", "import", "--name", "other"] + files, "keyfob -k site identity rm web"),
            (["identity", "check", "web"], "keyfob -k site trust add "),
            (["identity", "create", "web", "--cn", "x", "--self-signed"], "keyfob -k site identity renew web"),
            (["get", "nothing"], "keyfob -k site ls"), (["set", "x", "secret"], "keyfob -k site set x"),
        ]
        for (arguments, command) in rows {
            #expect(try told(arguments + selector).contains(command), "\(arguments)")
        }
        for own in [[], ["-k", "login"], ["--token", "login"]] {
            #expect(try told(["get", "nothing"] + own).contains("keyfob ls\n"), "\(own)")
        }
    }
}
