import Foundation
import TestSupport
import Testing

/// TLS-ALPN-01 challenges (RFC 8737), which a real ACME server checks.
@Suite(.enabled(if: PebbleServer.isInstalled, "pebble, an ACME server, is not installed"))
struct ACMETLSTests {
    private func create(_ home: IdentityHome, _ server: PebbleServer, _ words: [String]) throws -> Tool.Result {
        try Tool.keyfob(
            ["identity", "create", "web", "--issuer", "acme:" + server.directory, "--acme-ca", home.file("acme-ca.pem"),
                "--agree-tos"] + words, environment: home.environment
        ).run()
    }

    @Test func `the command answers TLS challenges itself, for names and addresses, and again at a renewal`() throws {
        let home = try IdentityHome()
        let server = try PebbleServer(home, hasWebServer: false)
        let made = try create(
            home, server,
            ["--ip", "127.0.0.1", "--dns", "web.example", "--dns", "b.example", "--listen-tls", server.tlsPort])
        try #require(made.status == 0, "\(made.error)")
        try #require(home.keyfob("cert", "export", "web", "-o", home.file("web.pem")).status == 0)
        let names = try home.shell("openssl x509 -in web.pem -noout -ext subjectAltName")
        for name in ["IP Address:127.0.0.1", "DNS:web.example", "DNS:b.example"] {
            #expect(names.contains(name), "\(names)")
        }
        let renewed = try home.keyfob("identity", "renew", "web", "--force", "--new-key")
        #expect(renewed.status == 0, "\(renewed.error)")
    }

    @Test func `a challenge that the authority cannot reach is reported with the port`() throws {
        let home = try IdentityHome()
        let server = try PebbleServer(home, hasWebServer: false)
        let elsewhere = try home.freePorts(1)[0]
        let refused = try create(home, server, ["--dns", "web.example", "--listen-tls", elsewhere])
        #expect(refused.status == 1)
        #expect(
            refused.error.contains("port 443 of web.example, which must lead to this machine, port \(elsewhere)"),
            "\(refused.error)")
        let wildcard = try create(home, server, ["--dns", "*.example.org", "--listen-tls", server.tlsPort])
        #expect(wildcard.status == 1)
        #expect(wildcard.error.contains("offers no TLS-ALPN-01 challenge"), "\(wildcard.error)")
        #expect(wildcard.error.contains("--dns-hook"), "\(wildcard.error)")
    }

    @Test(arguments: [["--listen-tls", "port"], ["--listen-tls", "443", "--listen", "80"]])
    func `an invalid address and two ways to answer are refused`(words: [String]) throws {
        let home = try IdentityHome()
        let refused = try Tool.keyfob(
            ["identity", "create", "web", "--dns", "web.example", "--issuer", "acme:https://127.0.0.1:1/dir"] + words,
            environment: home.environment
        ).run()
        #expect(refused.status == 2, "\(refused.error)")
    }
}
