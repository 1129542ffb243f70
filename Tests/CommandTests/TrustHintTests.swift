import Foundation
import TestSupport
import Testing

/// The report about trust after a change of versions: which certificate, for which uses, and until when.
@Suite struct TrustHintTests {
    /// A home with authority `ta`, which is trusted for servers.
    private func home(lifetime: String) throws -> IdentityHome {
        let home = try IdentityHome()
        let create = ["identity", "create", "ta", "--cn", "TA", "--authority", "--self-signed", "--lifetime", lifetime]
        try #require(Tool.keyfob(create, environment: home.environment).run().status == 0)
        try #require(home.keyfob("trust", "add", "ta", "--for", "server").status == 0)
        return home
    }

    @Test func `a certificate is named by its fingerprint if another one has its name`() throws {
        let home = try home(lifetime: "10d")
        // A certificate keeps the name from its file.
        try home.makeSelfSigned("stranger", commonName: "ta")
        try #require(home.keyfob("cert", "import", home.file("stranger.pem")).status == 0)
        let renewed = try home.keyfob("identity", "renew", "ta", "--force", "--lifetime", "90d")
        let hint = try #require(
            renewed.output.firstMatch(of: /in use: keyfob (trust add sha256:[0-9a-f]+ --for server)\n/), "\(renewed)").1
        let refused = try home.keyfob("identity", "retire", "ta", "--yes")
        #expect(refused.status == 12, "\(refused)")
        #expect(refused.error.contains("keyfob \(hint)\n    Then: keyfob trust rm ta@"), "\(refused.error)")
        try home.shell("'\(Tool.keyfob([]).path)' \(hint)")
        let trusted = try IdentityHome.json(home.keyfob("trust", "ls", "--json"))
        let anchors = try #require(trusted["anchors"] as? [[String: Any]])
        let current = try IdentityHome.json(home.keyfob("identity", "show", "ta", "--json"))
        #expect(anchors.count == 2 && anchors.allSatisfy { $0["usages"] as? [String] == ["server"] })
        #expect(anchors.contains { $0["fingerprint"] as? String == current["fingerprint"] as? String })
    }

    @Test func `no hint proposes to wait until an expired version expires`() throws {
        let home = try home(lifetime: "10s")
        var state: String?
        for _ in 0..<600 where state != "expired" {
            usleep(100_000)
            state = try IdentityHome.json(home.keyfob("cert", "show", "ta", "--json"))["state"] as? String
        }
        let renewed = try home.keyfob("identity", "renew", "ta", "--lifetime", "90d")
        #expect(renewed.output.firstMatch(of: /only ta@[0-9.-]+ is trusted, which has expired; to trust/) != nil, "\(renewed)")
        #expect(renewed.output.contains("in use: keyfob trust add ta --for server\n"), "\(renewed.output)")
    }
}
