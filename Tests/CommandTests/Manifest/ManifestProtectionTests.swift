import Foundation
import TestSupport
import Testing

/// Entries that no removal removes.
@Suite struct ManifestProtectionTests {
    private static let manifest = """
        secrets: [{name: s, generate: {}, protect: true}]
        keys: [{name: k, protect: true}]
        identities:
          - {name: web, commonName: web, issuer: self, protect: true, key: {rotationPolicy: always}}
        prune: true
        """

    private func home() throws -> ManifestHome {
        let home = try ManifestHome()
        try home.write(Self.manifest)
        try home.apply()
        return home
    }

    @Test(arguments: [["rm", "s"], ["key", "rm", "k"], ["identity", "rm", "web"], ["cert", "rm", "web"], ["key", "rm", "web"]])
    func `a protected item is removed only on request`(command: [String]) throws {
        let home = try home()
        #expect(try home.isUpToDate())
        let all = command + ["-k", "site", "--yes"]
        for options in [[], ["--dry-run"]] {
            let refused = try home.keyfob(all + options)
            #expect(refused.status == 12, "\(refused.error)")
            #expect(refused.error.contains("is protected"), "\(refused.error)")
            #expect(refused.error.contains("--unprotect"), "\(refused.error)")
        }
        #expect(try home.isUpToDate())
        let removed = try home.keyfob(all + ["--unprotect"])
        #expect(removed.status == 0, "\(removed.error)")
        #expect(try !home.isUpToDate())
    }

    @Test func `a helper does not remove a protected password`() throws {
        let home = try ManifestHome()
        try home.write(
            "secrets: [{name: git.example, server: git.example, protocol: https, user: me, generate: {}, protect: true}]")
        try home.apply()
        let request = Data("protocol=https\nhost=git.example\nusername=me\n\n".utf8)
        let erased = try home.home.keyfob(["helper", "git", "erase", "-k", "site"], input: request)
        #expect(erased.status == 12, "\(erased.error)")
        #expect(try home.keyfob(["get", "git.example", "-k", "site"]).status == 0)
    }

    @Test func `prune leaves a protected secret, unless it is told not to`() throws {
        let home = try home()
        try home.write("prune: true")
        #expect(try home.changes().isEmpty)
        let result = try home.keyfob(["plan", home.path("site.yaml"), "--unprotect", "--exit-code"])
        #expect(result.status == 10)
        #expect(result.output.contains("- secret       s"), "\(result.output)")
        try home.apply(["--unprotect"])
        #expect(try home.keyfob(["get", "s", "-k", "site"]).status == 3)
    }

    @Test func `a rotation leaves a protected key, unless it is told not to`() throws {
        let home = try home()
        try home.write("keys: [{name: k, type: ec, curve: p384, rotate: true, protect: true}]")
        let refused = try home.keyfob(["apply", home.path("site.yaml"), "--allow-destroy-keys"])
        #expect(refused.status == 2, "\(refused.error)")
        #expect(refused.error.contains("site.yaml:4:8: key \"k\" is protected"), "\(refused.error)")
        try home.apply(["--allow-destroy-keys", "--unprotect"])
        #expect(try home.isUpToDate())
        #expect(try home.keyfob(["key", "rm", "k", "-k", "site", "--yes"]).status == 12)
    }

    @Test(arguments: ["name: web", "name: x, renamedFrom: web"])
    func `an entry for a key neither destroys nor renames the key of an identity`(name: String) throws {
        let home = try home()
        let before = try home.keys()["web"]
        for rest in ["type: rsa, size: 2048, rotate: true", "type: ec, curve: p384"] {
            try home.write("keys: [{\(name), \(rest)}]")
            let refused = try home.keyfob(["apply", home.path("site.yaml"), "--allow-destroy-keys", "--unprotect"])
            #expect(refused.status == 2, "\(refused.error)")
            #expect(refused.error.contains("is that of an identity"), "\(refused.error)")
        }
        #expect(try home.keys()["web"] == before)
        #expect(try home.keyfob(["identity", "show", "web", "-k", "site"]).status == 0)
    }

    @Test func `the key of an identity satisfies an entry that it fits, and is not renamed`() throws {
        let home = try home()
        try home.write("keys: [{name: web}]")
        #expect(try home.isUpToDate())
        try home.write("keys: [{name: x, renamedFrom: web}]")
        #expect(try home.keyfob(["plan", home.path("site.yaml")]).status == 2)
    }

    @Test func `the protection ends with the word in the manifest`() throws {
        let home = try home()
        try home.write(Self.manifest.replacingOccurrences(of: "protect: true", with: "protect: false"))
        #expect(try home.changes() == ["update secret s", "update key k", "update identity web"])
        let serial = try home.serial("web")
        try home.apply()
        #expect(try home.isUpToDate())
        #expect(try home.serial("web") == serial)
        for command in [["rm", "s"], ["key", "rm", "k"], ["identity", "rm", "web"]] {
            #expect(try home.keyfob(command + ["-k", "site", "--yes"]).status == 0)
        }
    }

    @Test func `a renewal passes the protection on to the new version`() throws {
        let home = try home()
        let renewed = try home.keyfob(["identity", "renew", "web", "--force", "-k", "site"])
        #expect(renewed.status == 0, "\(renewed.error)")
        #expect(try home.isUpToDate())
        #expect(try home.keyfob(["identity", "rm", "web", "-k", "site", "--yes"]).status == 12)
        // The older version is no longer protected.
        let retired = try home.keyfob(["identity", "retire", "web", "-k", "site", "--yes"])
        #expect(retired.status == 0, "\(retired.error)")
    }
}
