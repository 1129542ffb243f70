import Foundation
import TestSupport
import Testing

/// Tokens that have no keychain, and keychains that take no passwords.
@Suite struct BareTokenTests {
    private let home: TestHome
    private let environment: [String: String]

    init() throws {
        home = try TestHome()
        environment = try home.makeCard().merging(
            ["KEYFOB_MODULE": TestToken.modulePath, "KEYFOB_PIN_SOURCE": "env:CARD_PIN"]) { $1 }
    }

    private func keyfob(_ arguments: String..., input: String = "") throws -> Tool.Result {
        try home.keyfob(arguments, input: Data(input.utf8), environment: environment)
    }

    @Test func `keys are made, listed, shown and used on a token without a keychain`() throws {
        let made = try keyfob("key", "generate", "api", "--token", "card", "--json")
        #expect(made.status == 0 && made.output.contains("\"keychain\":null"), "\(made.output)\(made.error)")
        #expect(try keyfob("key", "ls", "--token", "card").output.contains("api"))
        let shown = try keyfob("key", "show", "api", "--token", "card")
        #expect(shown.output.contains("EC P-256, private"), "\(shown.error)")
        #expect(try keyfob("key", "pub", "api", "--token", "card").output.contains("BEGIN PUBLIC KEY"))
        #expect(try keyfob("key", "csr", "api", "--cn", "api", "--token", "card").output.contains("REQUEST"))
        let uri = try keyfob("uri", "api", "--token", "card")
        #expect(uri.output.hasPrefix("pkcs11:") && uri.output.contains("object=api"), "\(uri.output)\(uri.error)")
        #expect(try home.keyfob(["keychain", "ls", "--json"]).output.contains("\"keychains\":[]"))
        let second = try keyfob("key", "generate", "api", "--token", "card")
        #expect(second.status == 4, "\(second.error)")
    }

    @Test func `certificates are imported, listed and exported on a token without a keychain`() throws {
        let script = "cd \"$1\"; openssl req -x509 -newkey rsa:2048 -nodes -keyout k -out c.pem -days 9 -subj /CN=x"
        let shell = try Tool("/bin/sh", ["-euc", script, "sh", home.directory.path]).run()
        try #require(shell.status == 0, "\(shell.error)")
        let file = home.directory.file("c.pem")
        let imported = try keyfob("cert", "import", file, "--name", "ca", "--token", "card")
        #expect(imported.status == 0, "\(imported.error)")
        #expect(try keyfob("cert", "ls", "--token", "card").output.contains("ca"))
        #expect(try keyfob("cert", "show", "ca", "--token", "card").output.contains("CN=x"))
        let exported = try keyfob("cert", "export", "ca", "--token", "card")
        #expect(exported.output == (try String(contentsOfFile: file, encoding: .utf8)), "\(exported.error)")
    }

    @Test func `a hint on a token without a keychain names the token`() throws {
        let missing = try keyfob("key", "show", "api", "--token", "card")
        #expect(missing.status == 3 && missing.error.contains("no key \"api\" on token \"card\""), "\(missing.error)")
        #expect(missing.error.contains("keyfob --token card key ls"), "\(missing.error)")
    }

    @Test func `passwords need a keychain`() throws {
        let refused = try keyfob("set", "a", "--stdin", "--token", "card", input: "x")
        #expect(refused.status == 3 && refused.error.contains("keyfob init --token card"), "\(refused.error)")
    }

    @Test func `a wrong PIN for a token without a keychain is not sent again`() throws {
        let bad = try home.directory.write(Array("9999".utf8), to: "bad")
        let first = try keyfob("key", "ls", "--token", "card", "--pin-source", "file:" + bad)
        #expect(first.status == 5 && first.error.contains("wrong PIN"), "\(first.error)")
        let second = try keyfob("key", "ls", "--token", "card", "--pin-source", "file:" + bad)
        #expect(second.status == 5 && second.error.contains("not sent again"), "\(second.error)")
        #expect(second.error.contains("the same command with --pin-source prompt"), "\(second.error)")
    }

    @Test func `a keychain without passwords holds keys, certificates and identities`() throws {
        let made = try keyfob(
            "init", "-k", "card", "--token", "card", "--module", TestToken.modulePath, "--no-passwords", "--json")
        #expect(made.output.contains("\"wrap_suite\":\"none\""), "\(made.output)\(made.error)")
        #expect(made.output.contains("\"wrapping_key\":null"), "\(made.output)")
        #expect(try keyfob("token", "show", "card", "--objects").output.contains("0 objects"))
        let web = try keyfob("identity", "create", "web", "--cn", "web", "--self-signed", "-k", "card")
        #expect(web.status == 0, "\(web.error)")
        #expect(try keyfob("identity", "renew", "web", "--force", "-k", "card").status == 0)
        #expect(try keyfob("identity", "ls", "-k", "card").output.contains("web@"))
        let refused = try keyfob("set", "a", "--stdin", "-k", "card", input: "x")
        #expect(refused.status == 8 && refused.error.contains("takes no passwords"), "\(refused.error)")
        #expect(try keyfob("ls", "-k", "card").status == 0)
        let status = try keyfob("status", "-k", "card", "--json")
        #expect(status.output.contains("\"wrap_suite\":\"none\""), "\(status.output)")
        let checked = try keyfob("keychain", "check", "card", "--secrets")
        #expect(checked.status == 0, "\(checked.output)\(checked.error)")
        let removed = try keyfob("keychain", "rm", "card", "--yes")
        #expect(removed.status == 0 && !removed.output.contains("sealed"), "\(removed.output)\(removed.error)")
    }

    @Test func `a wrong PIN makes no keychain without passwords`() throws {
        let bad = try home.directory.write(Array("9999".utf8), to: "bad")
        let made = try keyfob(
            "init", "-k", "card", "--token", "card", "--module", TestToken.modulePath, "--no-passwords",
            "--pin-source", "file:" + bad)
        #expect(made.status == 5, "\(made.error)")
        #expect(try home.keychains().isEmpty)
    }

    @Test func `a vault cannot be made one without passwords from outside`() throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        let sql = "UPDATE wrapping_key SET suite='none', encrypted_metadata_key=randomblob(32)"
        let script = "import sqlite3,sys;c=sqlite3.connect(sys.argv[1]);c.execute(sys.argv[2]);c.commit()"
        let changed = try Tool("/usr/bin/env", ["python3", "-c", script, household.vault(), sql]).run()
        try #require(changed.status == 0, "\(changed.error)")
        _ = try household.keyfob(["lock"])
        let read = try household.keyfob(["ls"])
        #expect(read.status == 7 && read.error.contains("has no wrapping key"), "\(read.output)\(read.error)")
    }
}
