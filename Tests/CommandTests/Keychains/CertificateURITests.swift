import Foundation
import TestSupport
import Testing

/// `keyfob uri --type cert` prints a URI that finds the certificate.
@Suite struct CertificateURITests {
    @Test func `the URI of a certificate has the label and the identifier of the certificate object`() throws {
        let card = try CardKeychain()
        try card.makeFiles("bare")
        try card.write("key", of: "bare", id: "07", label: "key-of-bare")
        try card.write("pub", of: "bare", id: "07", label: "key-of-bare")
        try card.write("crt", of: "bare", id: nil)
        let own = try card.keyfob("uri", "bare", "--type", "cert").output
        #expect(own.contains("object=bare;"), "\(own)")
        #expect(!own.contains("id="), "\(own)")
        #expect(!own.contains("pin-source"), "\(own)")
        let shown = try card.keyfob("cert", "show", "bare").output
        #expect(shown.contains(own.trimmingCharacters(in: .newlines)), "\(shown)")
        let exported = try card.shell("p11tool --provider \"$MODULE\" --export '\(own.trimmingCharacters(in: .newlines))'")
        #expect(exported.contains("BEGIN CERTIFICATE"))
    }

    @Test(arguments: [["--new-key"], ["--same-key"]])
    func `the URI of a renewed certificate finds the certificate`(option: [String]) throws {
        let household = try TestHome.unattended()
        let commands = [
            ["identity", "create", "web", "--cn", "web", "--self-signed"],
            ["identity", "renew", "web", "--force", "--self-signed"] + option,
        ]
        for command in commands {
            let made = try household.keyfob(command)
            try #require(made.status == 0, "\(made.error)")
        }
        let uri = try household.keyfob(["uri", "web", "--type", "cert"]).output.trimmingCharacters(in: .newlines)
        let byURI = try household.keyfob(["cert", "export", uri])
        #expect(byURI.output.contains("BEGIN CERTIFICATE"), "\(uri): \(byURI.error)")
        #expect(try byURI.output == household.keyfob(["cert", "export", "web"]).output)
        let key = try household.keyfob(["uri", "web", "--type", "private"]).output
        #expect(key.contains("type=private"))
    }
}
