import Foundation
import TestSupport
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
        // No challenge answers are left behind; the account's key is on the token.
        #expect(try home.shell("find www -type f").isEmpty)
        // A web server runs as another user, and must be able to reach the directory.
        #expect(try home.shell("stat -c %a www/.well-known www/.well-known/acme-challenge") == "755\n755\n")
        #expect(try home.keyfob("key", "ls").output.contains("acme account 127.0.0.1:"))
        try home.shell("\(Tool.keyfob([]).path) cert export web -o web.pem")
        #expect(try home.shell("openssl x509 -in web.pem -noout -ext subjectAltName").contains("DNS:www.example.org"))

        func publicKey() throws -> String {
            #expect(try home.keyfob("cert", "export", "web", "-o", home.file("now.pem"), "--force").status == 0)
            return try home.shell("openssl x509 -in now.pem -noout -pubkey")
        }
        let first = try publicKey()

        // Only the name is given: the settings were stored.
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

    @Test func `an ACME server's refusal is reported, and the waiting key is used the next time`() throws {
        let home = try IdentityHome()
        let server = try PebbleServer(home)
        let authority = ["--acme-ca", home.file("acme-ca.pem")]
        let root = ["--web-root", home.file("www")]
        let name = ["--dns", "www.example.org"]
        let terms = try create(home, "web", server, name + root + authority)
        #expect(terms.status == 12 && terms.error.contains("terms of service"), "\(terms.error)")
        #expect(try !home.keyfob("key", "ls").output.contains("acme account"))

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
        #expect(wildcard.status == 1 && wildcard.error.contains("--dns-hook"), "\(wildcard.error)")

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
        #expect(away.status == 1 && away.error.contains("cannot be reached: no server answers there"))
    }

    /// The answers of the server in the tests below.
    private func options(_ home: IdentityHome) -> [String] { ["--acme-ca", home.file("acme-ca.pem"), "--agree-tos"] }

    private func names(of name: String, in home: IdentityHome) throws -> String {
        let file = home.file(name + ".pem")
        try #require(try home.keyfob("cert", "export", name, "-o", file, "--force").status == 0)
        return try home.shell("openssl x509 -in '\(file)' -noout -ext subjectAltName")
    }

    @Test func `without a web server the command answers challenges itself, for names and addresses`() throws {
        let home = try IdentityHome()
        let server = try PebbleServer(home, hasWebServer: false)
        let listen = ["--listen", server.httpPort] + options(home)
        let made = try create(home, "web", server, ["--ip", "127.0.0.1", "--dns", "web.example", "--dns", "b.example"] + listen)
        try #require(made.status == 0, "\(made.error)")
        let text = try names(of: "web", in: home)
        for name in ["IP Address:127.0.0.1", "DNS:web.example", "DNS:b.example"] { #expect(text.contains(name), "\(text)") }
        // The port is free again, and the address is stored for the renewal.
        let renewed = try home.keyfob("identity", "renew", "web", "--force", "--new-key")
        #expect(renewed.status == 0, "\(renewed.error)")
        #expect(try names(of: "web", in: home).contains("IP Address:127.0.0.1"))
    }

    @Test(.enabled(if: Machine.hasIPv6, "this machine has no IPv6"))
    func `the command answers challenges for an IPv6 address itself`() throws {
        let home = try IdentityHome()
        let server = try PebbleServer(home, hasWebServer: false)
        let six = try create(home, "six", server, ["--ip", "::1", "--listen", "[::1]:" + server.httpPort] + options(home))
        try #require(six.status == 0, "\(six.error)")
        #expect(try names(of: "six", in: home).contains("IP Address:0:0:0:0:0:0:0:1"))
    }

    @Test func `an address that cannot be listened on is reported`() throws {
        let home = try IdentityHome()
        let server = try PebbleServer(home)
        let name = ["--dns", "web.example"] + options(home)
        let taken = try create(home, "web", server, name + ["--listen", server.httpPort])
        #expect(taken.status == 1 && taken.error.contains("--web-root"), "\(taken.error)")
        let strange = try create(home, "web", server, name + ["--listen", "192.0.2.1:" + server.httpPort])
        #expect(strange.status == 1 && strange.error.contains("192.0.2.1"), "\(strange.error)")
        for none in ["", "70000", "0", "port", "example.org:80", "::1:80"] {
            let refused = try create(home, "web", server, name + ["--listen", none])
            #expect(refused.status == 2, "\(none): \(refused.error)")
        }
        for ways in [[], ["--listen", "80", "--web-root", "/tmp"], ["--dns-hook", "true", "--listen", "80"]] {
            #expect(try create(home, "web", server, name + ways).status == 2, "\(ways)")
        }
    }

    @Test func `a command that creates the record, which is removed again, proves a wildcard`() throws {
        let home = try IdentityHome()
        let server = try PebbleServer(home, hasWebServer: false)
        try home.shell(
            """
            cat > hook <<'END'
            #!/bin/sh -e
            cd "$(dirname "$0")"
            echo "$*" >> records
            umask > mask
            case $2 in
            add) curl -sf -d "{\\"host\\": \\"$3.\\", \\"value\\": \\"$4\\"}" $1/set-txt ;;
            remove) curl -sf -d "{\\"host\\": \\"$3.\\"}" $1/clear-txt ;;
            esac
            END
            chmod +x hook
            """)
        let hook = ["--dns-hook", "'\(home.file("hook"))' \(server.nameServer)"] + options(home)
        let made = try create(home, "web", server, ["--dns", "*.example.org", "--dns", "example.org"] + hook)
        try #require(made.status == 0, "\(made.error)")
        let text = try names(of: "web", in: home)
        #expect(text.contains("DNS:*.example.org") && text.contains("DNS:example.org"), "\(text)")
        let records = try home.shell("cat records").split(separator: "\n")
        #expect(records.count == 4 && records.filter { $0.contains(" add _acme-challenge.example.org ") }.count == 2)
        #expect(zip(records, records.dropFirst()).allSatisfy { $0.contains(" add ") != $1.contains(" add ") })
        #expect(try home.shell("cat mask") == home.shell("umask"))

        let address = try create(home, "ip", server, ["--ip", "127.0.0.1"] + hook)
        #expect(address.status == 1 && address.error.contains("Addresses need HTTP-01"), "\(address.error)")
        let failing = try create(home, "x", server, ["--dns", "x.example", "--dns-hook", "false"] + options(home))
        #expect(failing.status == 1 && failing.error.contains("ended with status 1"), "\(failing.error)")
        // A command that creates no record, although it reports success.
        let lying = try create(home, "x", server, ["--dns", "x.example", "--dns-hook", "true"] + options(home))
        #expect(lying.status == 1 && lying.error.contains("_acme-challenge.x.example"), "\(lying.error)")
    }

    @Test func `an account is bound to one elsewhere, once, and the binding's key is not stored`() throws {
        let home = try IdentityHome()
        let key = "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W"
        let server = try PebbleServer(home, hasWebServer: false, externalAccounts: ["customer-1": key])
        let request = ["--dns", "web.example", "--listen", server.httpPort] + options(home)
        let without = try create(home, "web", server, request)
        #expect(without.status == 12)
        #expect(try IdentityHome.code(without) == "refused" && without.error.contains("--eab-kid ID --eab-key-source"))

        func source(_ text: String) throws -> [String] {
            let file = try home.directory.write(Array((text + "\n").utf8), to: "eab")
            return ["--eab-kid", "customer-1", "--eab-key-source", "file:" + file]
        }
        let another = try create(home, "web", server, request + source("AAAA"))
        #expect(another.status == 1 && another.error.contains("the HMAC key"), "\(another.error)")
        for none in ["not base64", "A", "AAAA=AAA", "===="] {
            let refused = try create(home, "web", server, request + source(none))
            #expect(refused.status == 2, "\(none): \(refused.error)")
            #expect(try IdentityHome.code(refused) == "argument.invalid")
        }
        #expect(try create(home, "web", server, request + ["--eab-kid", "customer-1"]).status == 2)
        #expect(try create(home, "web", server, request + ["--eab-key-source", "env:X"]).status == 2)

        let made = try create(home, "web", server, request + source(key))
        try #require(made.status == 0, "\(made.error)")
        try home.shell("rm eab")
        #expect(!made.output.contains("customer-1"))
        // A renewal uses the existing account, and needs nothing else.
        let renewed = try home.keyfob("identity", "renew", "web", "--force")
        #expect(renewed.status == 0, "\(renewed.error)")
        #expect(try home.shell("grep -rlF zWND home run || true").isEmpty)
    }
}
