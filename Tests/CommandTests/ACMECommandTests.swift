import Foundation
import Testing

@testable import KeyfobCLI

@Suite(.enabled(if: PebbleServer.isInstalled, "pebble, an ACME server, is not installed"))
struct ACMECommandTests {
    private func create(_ home: IdentityHome, _ name: String, _ server: PebbleServer, _ more: [String]) throws
        -> Tool.Result
    {
        try Tool.keyfob(
            ["identity", "create", name, "--issuer", "acme:" + server.directory, "--json"] + more,
            environment: home.environment
        ).run()
    }

    @Test func `a real ACME server issues, and renews with the same key and a new one`() throws {
        let home = try IdentityHome()
        let server = try PebbleServer(home)
        let options = [
            "--web-root", home.file("www"), "--acme-ca", home.file("acme-ca.pem"), "--agree-tos", "--contact",
            "ops@example.org",
        ]
        let made = try create(home, "web", server, ["--dns", "www.example.org", "--dns", "example.org"] + options)
        try #require(made.status == 0, "\(made.error)")
        #expect(made.output.contains("Pebble Intermediate CA") && made.output.contains("\"kept\":[]"))
        // Answers do not stay; the account's key is on the token.
        #expect(try home.shell("find www -type f").isEmpty)
        #expect(try home.keyfob("key", "ls").output.contains("acme account 127.0.0.1:"))
        try home.shell("\(Tool.keyfob([]).path) cert export web -o web.pem")
        #expect(try home.shell("openssl x509 -in web.pem -noout -ext subjectAltName").contains("DNS:www.example.org"))

        func publicKey() throws -> String {
            #expect(try home.keyfob("cert", "export", "web", "-o", home.file("now.pem"), "--force").status == 0)
            return try home.shell("openssl x509 -in now.pem -noout -pubkey")
        }
        let first = try publicKey()

        // Nothing but the name: the settings were written down.
        let renewed = try home.keyfob("identity", "renew", "web", "--force")
        #expect(renewed.status == 0, "\(renewed.error)")
        let lines = renewed.output.split(separator: "\n")
        try #require(lines.count == 3)
        #expect(lines[0].hasPrefix("web: 0% of its lifetime used, renewing (issuer: acme 127.0.0.1:"))
        #expect(lines[1].hasPrefix("  order ok, ") && lines[1].contains("certificate valid until "))
        #expect(lines[2].hasPrefix("  installed; old certificate kept as web@20"))
        #expect(try publicKey() == first)
        let key = try home.keyfob("identity", "renew", "web", "--force", "--new-key", "--json")
        #expect(key.status == 0 && key.output.contains("\"changed\":true"), "\(key.error)")
        #expect(try publicKey() != first)
        let check = try home.keyfob("identity", "check", "web")
        #expect(check.status == 0, "\(check.output)")
        // One account for all orders.
        let accounts = try home.keyfob("key", "ls", "--format", "tsv").output.split(separator: "\n")
            .filter { $0.hasPrefix("acme account") }
        #expect(accounts.count == 1)
    }

    @Test func `what an ACME server refuses is told, and the key that waits is used the next time`() throws {
        let home = try IdentityHome()
        let server = try PebbleServer(home)
        let authority = ["--acme-ca", home.file("acme-ca.pem")]
        let root = ["--web-root", home.file("www")]
        let name = ["--dns", "www.example.org"]
        let terms = try create(home, "web", server, name + root + authority)
        #expect(terms.status == 12 && terms.error.contains("terms of service"), "\(terms.error)")

        let stranger = try create(home, "web", server, name + root + ["--agree-tos"])
        #expect(stranger.status == 1 && stranger.error.contains("is not trusted"), "\(stranger.error)")

        try home.shell("mkdir elsewhere")
        let wrong = try create(
            home, "web", server, name + ["--web-root", home.file("elsewhere"), "--agree-tos"] + authority)
        #expect(wrong.status == 1)
        #expect(try IdentityHome.code(wrong) == "issuer.failed")
        #expect(wrong.error.contains("www.example.org") && wrong.error.contains("urn:ietf:params:acme:error:"))
        #expect(try home.shell("find elsewhere -type f").isEmpty)

        let wildcard = try create(home, "wild", server, ["--dns", "*.example.org"] + root + authority + ["--agree-tos"])
        #expect(wildcard.status == 1 && wildcard.error.contains("Wildcards need DNS-01"), "\(wildcard.error)")

        let keys = try home.keyfob("key", "ls", "--format", "tsv").output
        #expect(keys.split(separator: "\n").filter { $0.hasPrefix("web\t") }.count == 1)
        let made = try create(home, "web", server, name + root + authority + ["--agree-tos"])
        #expect(made.status == 0, "\(made.error)")
        let after = try home.keyfob("key", "ls", "--format", "tsv").output
        #expect(after.split(separator: "\n").filter { $0.hasPrefix("web\t") }.count == 1)

        let plain = try home.keyfob(
            "identity", "create", "x", "--dns", "x.example", "--issuer", "acme:http://127.0.0.1/dir", "--web-root", "/tmp")
        #expect(plain.status == 2)
        let away = try home.keyfob(
            "identity", "create", "x", "--dns", "x.example", "--issuer", "acme:https://127.0.0.1:1/dir", "--web-root", "/tmp")
        #expect(away.status == 1 && away.error.contains("cannot be reached: nobody answers there"))
    }
}
