import Foundation
import Keyfob
import Testing

@testable import KeyfobACME

@Suite struct ACMESettingsTests {
    private let settings = ACMEIssuer.Settings(
        directory: "https://acme.example:14000/dir", contacts: ["me@example.org"], agreesToTerms: true,
        dnsCommand: ["/usr/bin/hook", "--zone"], authorityFile: "/etc/ca.pem")

    @Test func `a stored policy gives back the settings of its ACME server`() throws {
        let policy = RenewalPolicy(issuer: .acme(settings))
        let stored = try JSONEncoder().encode(policy)
        let issuer = try JSONDecoder().decode(RenewalPolicy.self, from: stored).issuer
        #expect(issuer.acmeSettings == settings)
        #expect(issuer == .acme(settings))
        #expect(issuer.description == "acme acme.example:14000")
    }

    @Test func `settings are not read from an issuer of another kind, or in another form`() {
        guard case .external(let acme) = IssuerDescription.acme(settings) else {
            Issue.record("an ACME server is stored as an external issuer")
            return
        }
        let other = ExternalIssuer(kind: "est", name: acme.name, settings: acme.settings)
        #expect(IssuerDescription.external(other).acmeSettings == nil)
        let later = ExternalIssuer(kind: acme.kind, name: acme.name, settings: Data("{}".utf8))
        #expect(IssuerDescription.external(later).acmeSettings == nil)
        #expect(IssuerDescription.itself.acmeSettings == nil)
    }

    @Test func `an order with one profile is not continued as an order with another`() {
        var other = settings
        other.profile = "shortlived"
        #expect(settings.recordedAddress == settings.directory)
        #expect(other.recordedAddress != settings.recordedAddress)
    }
}
