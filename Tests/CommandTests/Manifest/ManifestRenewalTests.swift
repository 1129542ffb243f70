import Foundation
import TestSupport
import Testing

/// When the certificates of a manifest are renewed, and defaults for all entries.
@Suite struct ManifestRenewalTests {
    private func due(_ home: ManifestHome) throws -> String {
        try #require(home.home.document(["identity", "show", "web", "-k", "site"])["renewal_due"] as? String)
    }

    private func write(_ home: ManifestHome, _ members: String) throws {
        try home.write("identities: [{name: web, commonName: web, lifetime: 10d, issuer: self\(members)}]")
    }

    @Test func `another renewal time changes the policy, and not the certificate`() throws {
        let home = try ManifestHome()
        try write(home, "")
        try home.apply()
        let (serial, usual) = (try home.serial("web"), try due(home))
        try write(home, ", renewAt: 80%")
        #expect(try home.keyfob(["plan", home.path("site.yaml")]).output.contains("renewal: 66% of the lifetime -> 80%"))
        #expect(try home.changes() == ["update identity web"])
        try home.apply()
        let late = try due(home)
        #expect(late > usual)
        try write(home, ", renewBefore: 1d")
        try home.apply()
        #expect(try due(home) > late)
        #expect(try home.isUpToDate())
        #expect(try home.serial("web") == serial)
        // A renewal keeps the time, and an export has it.
        #expect(try home.keyfob(["identity", "renew", "web", "--force", "-k", "site"]).status == 0)
        #expect(try home.isUpToDate())
        #expect(try home.keyfob(["manifest", "export", "-k", "site"]).output.contains("renewBefore: 86400s"))
    }

    @Test func `a certificate is due at the time of its entry or of the defaults, also by hand`() throws {
        let home = try ManifestHome()
        // Our issuers date a certificate back by a minute.
        func text(_ defaults: String, _ own: String) -> String {
            """
            defaults: {\(defaults)}
            identities: [{name: web, commonName: web, lifetime: 4m, issuer: self\(own)}]
            """
        }
        try home.write(text("renewAt: 99%", ""))
        try home.apply()
        #expect(try home.isUpToDate())
        let serial = try home.serial("web")
        try home.write(text("renewAt: 10%", ", renewBefore: 1s"))
        try home.apply()
        #expect(try home.serial("web") == serial)
        try home.write(text("renewAt: 10%", ""))
        #expect(try home.changes() == ["update identity web"])
        try home.apply()
        #expect(try home.serial("web") != serial)
        let renewed = try home.home.document(["identity", "renew", "web", "-k", "site"])
        #expect(renewed["changed"] as? Bool == true)
    }

    @Test func `the kind of keys in the defaults is that of all keys that name none`() throws {
        let home = try ManifestHome()
        try home.write(
            """
            defaults: {key: {type: ec, curve: p384, extractable: true}}
            keys: [{name: a}, {name: b, type: aes, size: 128, extractable: false}]
            identities: [{name: web, commonName: web, issuer: self, key: {rotationPolicy: always}}]
            """)
        try home.apply()
        #expect(try home.isUpToDate())
        let keys = try #require(try home.home.document(["key", "ls", "-k", "site"])["keys"] as? [[String: Any]])
        let types = Dictionary(
            uniqueKeysWithValues: keys.map { ($0["name"] as? String ?? "", "\($0["type"] ?? "") \($0["extractable"] ?? "")") })
        #expect(types["a"] == "EC P-384 1" || types["a"] == "EC P-384 true", "\(types)")
        #expect(types["b"]?.hasPrefix("AES-128") ?? false, "\(types)")
        #expect(types["web"]?.hasPrefix("EC P-384") ?? false, "\(types)")
    }
}
