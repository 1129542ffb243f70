import Foundation
import Testing

@testable import KeyfobCLI

/// Programs that use what a manifest has made.
@Suite(.enabled(if: OpenSSLEngine.path != nil, "OpenSSL's pkcs11 engine is not installed")) struct ManifestServerTests {
    private static let manifest = """
        apiVersion: keyfob/v1
        keychain: site
        unattended: true
        secrets:
          - {name: db/password, user: app, generate: {length: 32}, rotateEvery: 90d}
        identities:
          - {name: ca, commonName: Site CA, authority: true, lifetime: 10y, issuer: self}
          - {name: web, dnsNames: [localhost], ips: [127.0.0.1], issuer: ca, outputs: [{chain: web.pem}]}
          - {name: app, commonName: app, usages: [client], issuer: ca, outputs: [{chain: app.pem}]}
        trust:
          - {certificate: ca, for: [server, client]}
        """

    @Test func `nginx and PostgreSQL's client use the keys of a manifest, and of one that was exported from it`() throws {
        let home = try ServingHome(keyType: "ec")
        // Written by the keychain's user, who must be able to read it.
        try home.shell("cat > first.yaml <<'END'\n\(Self.manifest)\nEND\n")
        for (number, file) in [("1", "../first.yaml"), ("2", "../1/exported.yaml")] {
            let start = "export HOME=\"$PWD/\(number)\" KEYFOB_SECRET_DB_PASSWORD_APP=value; mkdir -pm 700 \(number); cd \(number); "
            try home.shell(start + "cp \(file) site.yaml; ../keyfob apply site.yaml; ../keyfob plan site.yaml --exit-code")
            let nginx = try home.shell(start + "../keyfob uri web -k site --for nginx --check")
            #expect(nginx.contains("checked: TLSv1.3"), "\(nginx)")
            let client = try home.shell(start + "../keyfob uri app -k site --for postgresql --check")
            #expect(client.contains("checked: TLSv1.3"), "\(client)")
            try home.shell(start + "../keyfob manifest export -k site -o exported.yaml")
        }
    }
}
