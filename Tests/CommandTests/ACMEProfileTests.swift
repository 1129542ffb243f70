import Foundation
import TestSupport
import Testing

/// Profiles: the kinds of certificates that an ACME server offers.
@Suite struct ACMEProfileTests {
    private func create(_ home: IdentityHome, _ server: ScriptedACMEServer, _ words: String...) throws -> Tool.Result {
        try Tool.keyfob(
            ["identity", "create", "web", "--issuer", "acme:" + server.directory, "--web-root", home.file("www"),
                "--acme-ca", home.file("acme-ca.pem")] + words, environment: home.environment
        ).run()
    }

    @Test func `an order names the profile, and a renewal names it again`() throws {
        let home = try IdentityHome()
        let server = try ScriptedACMEServer(home, fault: "")
        try home.shell("echo '{\"classic\": \"90 days\", \"shortlived\": \"6 days\"}' > profiles")
        let made = try create(home, server, "--ip", "192.0.2.7", "--acme-profile", "shortlived")
        #expect(made.status == 0, "\(made.error)")
        let renewed = try home.keyfob("identity", "renew", "web", "--force")
        #expect(renewed.status == 0, "\(renewed.error)")
        #expect(try home.shell("cat wishes") == "{\"profile\": \"shortlived\"}\n{\"profile\": \"shortlived\"}\n")
    }

    @Test func `an unknown profile is refused with those that there are, before anything is made`() throws {
        let home = try IdentityHome()
        let server = try ScriptedACMEServer(home, fault: "")
        let none = try create(home, server, "--dns", "web.example", "--acme-profile", "short")
        #expect(none.status == 2)
        #expect(none.error.contains("offers no profile \"short\".\n    It offers none"), "\(none.error)")
        try home.shell("echo '{\"classic\": \"90 days\", \"shortlived\": \"6 days\"}' > profiles")
        let unknown = try create(home, server, "--dns", "web.example", "--acme-profile", "short")
        #expect(unknown.status == 2)
        #expect(unknown.error.contains("It offers classic, shortlived: --acme-profile NAME"), "\(unknown.error)")
        #expect(try !home.keyfob("key", "ls").output.contains("acme account"))
        #expect(try !home.shell("ls").contains("orders"))
    }

    @Test func `a refused order for an address without a profile names the profiles`() throws {
        let home = try IdentityHome()
        let server = try ScriptedACMEServer(home, fault: "")
        try home.shell("echo '{\"shortlived\": \"6 days\"}' > profiles")
        let refused = try create(home, server, "--ip", "192.0.2.7")
        #expect(refused.status == 1)
        #expect(refused.error.contains("no addresses here"), "\(refused.error)")
        #expect(refused.error.contains("it offers shortlived: --acme-profile NAME"), "\(refused.error)")
        let made = try create(home, server, "--dns", "web.example")
        #expect(made.status == 0, "\(made.error)")
    }
}
