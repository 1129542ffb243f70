import Foundation
import TestSupport
import Testing

/// The names in a request to an ACME server: only those that were ordered (RFC 8555 7.4).
@Suite struct ACMENameTests {
    /// The options of an order from a server.
    private func issuer(_ server: ScriptedACMEServer, _ home: IdentityHome) -> [String] {
        ["--issuer", "acme:" + server.directory, "--web-root", home.file("www"), "--acme-ca",
            home.file("acme-ca.pem"), "--json"]
    }

    /// The subject of the last request that a server received.
    private func subject(_ home: IdentityHome) throws -> String {
        try home.shell("openssl req -inform DER -in in.csr -noout -subject -nameopt RFC2253")
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The number of orders that a server received.
    private func orders(_ home: IdentityHome) throws -> Int {
        try home.shell("cat orders 2> /dev/null || true").split(separator: "\n").count
    }

    @Test(arguments: [
        ("CN=Example Web Server", "subject="), ("CN=Example Web Server,O=Example,C=DE", "subject="),
        ("O=Example", "subject="), ("CN=192.0.2.7", "subject="), ("CN=bücher.example", "subject="),
        ("CN=WEB.example", "subject=CN=WEB.example"), ("CN=web.example,O=Example", "subject=CN=web.example"),
    ])
    func `a renewal requests a common name only if it is one of the hosts`(
        before: String, asked: String
    ) throws {
        let home = try IdentityHome()
        let server = try ScriptedACMEServer(home, fault: "")
        let made = try home.keyfob(
            "identity", "create", "web", "--subject", before, "--dns", "web.example", "--dns", "bücher.example",
            "--ip", "192.0.2.7", "--self-signed")
        try #require(made.status == 0, "\(made.error)")
        let renewal = ["identity", "renew", "web", "--force"]
        for words in [renewal + issuer(server, home), renewal, renewal + ["--new-key"]] {
            let renewed = try Tool.keyfob(words, environment: home.environment).run()
            #expect(renewed.status == 0, "\(renewed.error)")
            #expect(try subject(home) == asked)
        }
        #expect(try orders(home) == 3)
        let names = try home.shell("openssl x509 -in out.pem -noout -ext subjectAltName | tail -n 1")
        #expect(names.contains("DNS:web.example, DNS:xn--bcher-kva.example, IP Address:192.0.2.7"), "\(names)")
    }

    @Test(arguments: [
        (["--cn", "web.example"], "subject=CN=web.example"),
        (["--cn", "Web.example", "--dns", "web.example"], "subject=CN=Web.example"),
        (["--cn", "bücher.example"], "subject="), (["--cn", "192.0.2.7"], "subject="),
        (["--cn", "192.0.2.7", "--dns", "web.example", "--ip", "192.0.2.7"], "subject="),
        (["--subject", "O=Example", "--dns", "web.example"], "subject="),
    ])
    func `a common name that is one of the names may be requested`(names: [String], asked: String) throws {
        let home = try IdentityHome()
        let server = try ScriptedACMEServer(home, fault: "")
        let made = try Tool.keyfob(
            ["identity", "create", "web"] + names + issuer(server, home), environment: home.environment
        ).run()
        #expect(made.status == 0, "\(made.error)")
        #expect(try subject(home) == asked)
    }

    @Test(arguments: [
        (["--cn", "api", "--dns", "api.example"], "leave out --cn"),
        (["--subject", "CN=Example Web Server,O=Example", "--dns", "web.example"], "CN of --subject"),
        (["--cn", "192.0.2.7", "--dns", "web.example"], "Or name it as a host or an address too: --dns NAME, --ip ADDRESS"),
        (["--dns", "web.example", "--email", "ops@web.example"], "cannot prove \\\"email:ops@web.example\\\""),
        (["--ip", "192.0.2.7", "--uri", "urn:web"], "cannot prove \\\"URI:urn:web\\\""),
        (["--dns", "web.example", "--other-name", "1.3.6.1.4.1.311.20.2.3:web@a.example"], "cannot prove \\\"other:"),
        (["--cn", "Example Web Server"], "there is none"),
    ])
    func `a request that ACME cannot certify is refused before a key is made, and nothing is ordered`(
        names: [String], reason: String
    ) throws {
        let home = try IdentityHome()
        let server = try ScriptedACMEServer(home, fault: "")
        for options in [[], ["--dry-run"]] {
            let refused = try Tool.keyfob(
                ["identity", "create", "web"] + names + issuer(server, home) + options, environment: home.environment
            ).run()
            #expect(try refused.status == 2 && IdentityHome.code(refused) == "argument.invalid", "\(refused.error)")
            #expect(refused.error.contains(reason), "\(refused.error)")
        }
        #expect(try orders(home) == 0)
        #expect(try home.keyfob("key", "ls", "--format", "tsv").output.isEmpty)
    }

    @Test(arguments: [["--email", "ops@web.example"], ["--uri", "urn:web"]], ["--same-key", "--new-key"])
    func `a renewal with a name that ACME cannot prove is refused before anything is ordered`(
        _ name: [String], _ key: String
    ) throws {
        let home = try IdentityHome()
        let server = try ScriptedACMEServer(home, fault: "")
        let made = try Tool.keyfob(
            ["identity", "create", "web", "--dns", "web.example", "--self-signed"] + name,
            environment: home.environment
        ).run()
        try #require(made.status == 0, "\(made.error)")
        let before = try home.keyfob("key", "ls", "--format", "tsv").output
        let renewed = try Tool.keyfob(
            ["identity", "renew", "web", "--force", key] + issuer(server, home), environment: home.environment
        ).run()
        #expect(try renewed.status == 2 && IdentityHome.code(renewed) == "argument.invalid", "\(renewed.error)")
        #expect(renewed.error.contains("cannot prove") && renewed.error.contains(name[1]), "\(renewed.error)")
        #expect(try orders(home) == 0 && home.keyfob("key", "ls", "--format", "tsv").output == before)
        // Another issuer can certify it.
        #expect(try home.keyfob("identity", "renew", "web", "--force").status == 0)
    }
}
