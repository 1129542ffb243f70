import Foundation
import TestSupport
import Testing

/// Entries with another name than before.
@Suite struct ManifestRenamingTests {
    @Test func `a secret keeps its value under the new name`() throws {
        let home = try ManifestHome()
        try home.write("secrets: [{name: old, user: app, generate: {}, outputs: [{value: out}]}]\nprune: true")
        try home.apply()
        let value = try home.text("out")
        try home.write(
            "secrets: [{name: new, renamedFrom: old, user: app, generate: {}, outputs: [{value: out}]}]\nprune: true")
        #expect(try home.changes() == ["update secret new"])
        try home.apply()
        #expect(try home.keyfob(["get", "new", "-u", "app", "-k", "site"]).output == value + "\n")
        #expect(try home.keyfob(["get", "old", "-k", "site"]).status == 3)
        #expect(try home.isUpToDate())
        // The apply that made the secret still counts as its maker.
        try home.write("prune: true")
        #expect(try home.changes() == ["delete secret new"])
    }

    @Test func `keys and identities keep their keys, certificates and versions`() throws {
        let home = try ManifestHome()
        func manifest(_ key: String, _ root: String, _ web: String, names: [String], former: Bool) -> String {
            func from(_ name: String) -> String { former ? ", renamedFrom: \(name)" : "" }
            return """
                keys: [{name: \(key)\(from("k"))}]
                identities:
                  - {name: \(root), commonName: Root, authority: true, issuer: self\(from("root"))}
                  - name: \(web)
                    commonName: web
                    dnsNames: [\(names.joined(separator: ", "))]
                    issuer: \(root)
                    key: {rotationPolicy: always}
                    outputs: [{chain: web.pem}]
                \(former ? "    renamedFrom: web" : "")
                trust: [{certificate: \(root)}]
                """
        }
        for names in [["a.example"], ["b.example"]] {
            try home.write(manifest("k", "root", "web", names: names, former: false))
            try home.apply()
        }
        let (keys, chain) = (try home.keys(), try home.text("web.pem"))
        let serials = try (home.serial("root"), home.serial("web"))
        try home.write(manifest("key", "authority", "site", names: ["b.example"], former: true))
        #expect(
            try home.changes() == ["update key key", "update identity authority", "update identity site"])
        try home.apply()
        #expect(try home.isUpToDate())
        #expect(try home.keys()["key"] == keys["k"])
        #expect(Set(try home.keys().values) == Set(keys.values))
        #expect(try (home.serial("authority"), home.serial("site")) == serials)
        #expect(try home.text("web.pem") == chain)
        #expect(try home.keyfob(["cert", "verify", "site", "-k", "site"]).status == 0)
        let names = try home.keys().keys.map { $0.prefix { $0 != "@" } }
        #expect(Set(names) == ["key", "authority", "site"])
        // The next renewal finds the authority under its new name.
        #expect(try home.keyfob(["identity", "renew", "site", "--force", "-k", "site"]).status == 0)
    }
}
