import Foundation
import TestSupport
import Testing

/// Applies that are killed.
@Suite struct InterruptedApplyTests {
    /// Three identities, so that several threads work; the program writes a line.
    private func home() throws -> ManifestHome {
        let home = try ManifestHome()
        try home.write(
            """
            secrets:
              - {name: a, generate: {}, outputs: [{value: a.txt}]}
              - {name: b, generate: {}}
            keys: [{name: k}]
            identities:
              - {name: root, commonName: Root, authority: true, issuer: self}
              - {name: one, commonName: one, issuer: root, outputs: [{chain: one.pem}]}
              - name: two
                commonName: two
                issuer: root
                outputs: [{chain: two.pem}]
                onChange: [{run: [sh, -c, "echo ran > \(home.path("log"))"]}]
            trust: [{certificate: root}]
            """)
        return home
    }

    /// The rounds of a home; the first one makes the keychain, and each later one changes what the earlier ones made.
    private static let rounds = 5

    /// The manifest of a round: the secret of the last round is pruned, the names of a certificate change, a key is
    /// renamed, and another one is added.
    private func manifest(_ home: ManifestHome, _ round: Int) -> String {
        """
        secrets:
          - {name: a, generate: {}, outputs: [{value: out/a.txt}]}
          - {name: s\(round), generate: {length: 40}, outputs: [{value: out/s.txt}]}
        keys:
          - {name: k}
          - {name: k\(round)}
          - {name: m\(round), renamedFrom: m\(round - 1), protect: \(round.isMultiple(of: 2))}
        identities:
          - {name: root, commonName: Root, authority: true, issuer: self}
          - name: web
            commonName: web
            dnsNames: [r\(round).example]
            key: {rotationPolicy: always}
            issuer: root
            outputs: [{chain: out/web.pem}]
            onChange: [{run: [sh, -c, "echo ran > \(home.path("log"))"]}]
        trust: [{certificate: root}]
        prune: true
        """
    }

    /// Together 200 kills, in series that run at once.
    @Test(arguments: 1...8) func `an apply that is killed at any moment is continued by the next one`(
        series: Int
    ) throws {
        var kills = 0
        for _ in 0..<5 {
            let home = try ManifestHome()
            try FileManager.default.createDirectory(atPath: home.path("out"), withIntermediateDirectories: false)
            var first: (keys: [String: String], secret: String)?
            for round in 0..<Self.rounds {
                try home.write(manifest(home, round))
                // Written by the program of this round's certificate.
                if round > 0 { try FileManager.default.removeItem(atPath: home.path("log")) }
                // The first apply makes the keychain and takes longer than the later ones.
                let moment = Double.random(in: 0...(round == 0 ? 0.6 : 0.35))
                _ = try Tool(
                    "/usr/bin/timeout",
                    ["-s", "KILL", "\(moment)", Tool.commandPath, "apply", home.path("site.yaml")],
                    environment: home.home.environment
                ).run()
                kills += 1
                let again = try home.keyfob(["apply", home.path("site.yaml")])
                try #require(again.status == 0, "\(round), \(moment): \(again.error)")
                #expect(try home.text("log") == "ran\n", "\(round), \(moment)")
                first = try first ?? (home.keys(), home.text("out/a.txt"))
            }
            #expect(try home.isUpToDate())
            let keys = try home.keys()
            #expect(keys["k"] == first?.keys["k"])
            #expect(keys["m\(Self.rounds - 1)"] == first?.keys["m0"])
            #expect(try home.text("out/a.txt") == first?.secret)
            try checkContents(home)
            try checkRemains(home)
        }
        #expect(kills == 25)
    }

    /// Nothing was lost, made twice or made anew.
    private func checkContents(_ home: ManifestHome) throws {
        let keys = try #require(try home.home.document(["key", "ls", "-k", "site"])["keys"] as? [[String: Any]])
        let names = keys.compactMap { $0["name"] as? String }
        let made = (0..<Self.rounds).map { "k\($0)" }
        #expect(names.filter { !$0.hasPrefix("web") }.sorted() == ["k"] + made + ["m\(Self.rounds - 1)", "root"])
        // A renewal that had its certificate before the kill is not repeated, so no version is without a round.
        #expect(names.filter { $0.hasPrefix("web") }.count == Self.rounds, "\(names)")
        #expect(try home.keyfob(["get", "a", "-k", "site"]).output == home.text("out/a.txt") + "\n")
        let last = Self.rounds - 1
        #expect(try home.keyfob(["get", "s\(last)", "-k", "site"]).output == home.text("out/s.txt") + "\n")
        #expect(try home.keyfob(["cert", "verify", "web", "-k", "site"]).status == 0)
    }

    /// Neither temporary files nor a secret are beside the files that belong there.
    private func checkRemains(_ home: ManifestHome) throws {
        let pin = try home.text("home/.local/share/keyfob/keychains/site/pin").trimmingCharacters(in: .newlines)
        let secrets = [pin, try home.text("out/a.txt"), try home.text("out/s.txt")]
        let isExpected: Set<String> = ["home/.local/share/keyfob/keychains/site/pin", "out/a.txt", "out/s.txt"]
        for name in try FileManager.default.subpathsOfDirectory(atPath: home.home.directory.path) {
            // SoftHSM's configuration holds no secret, and several processes may write it at once. The next copy of a
            // token's file removes the rest of the last one.
            let mayRemain = ["softhsm2.conf", "token-copies"].contains { name.contains($0) }
            #expect(!name.hasSuffix(".new") || mayRemain, "\(name)")
            guard !isExpected.contains(name), let content = FileManager.default.contents(atPath: home.path(name)) else {
                continue
            }
            for secret in secrets { #expect(content.firstRange(of: Data(secret.utf8)) == nil, "\(name)") }
        }
        #expect(try home.home.directories() == ["site"])
    }

    @Test func `what a killed apply left beside a file is removed by the next one`() throws {
        let home = try ManifestHome()
        try home.write("secrets: [{name: a, generate: {}, outputs: [{value: a.txt}]}]")
        let remains = home.path("a.txt.0123456789abc.new")
        try Data("half a secret".utf8).write(to: URL(fileURLWithPath: remains))
        let others = [home.path("a.txt.new"), home.path("b.txt.0123456789abc.new")]
        for other in others { try Data().write(to: URL(fileURLWithPath: other)) }
        try home.apply()
        #expect(!FileManager.default.fileExists(atPath: remains))
        for other in others { #expect(FileManager.default.fileExists(atPath: other)) }
    }

    @Test(.enabled(if: Machine.canTrace)) func `a rotation that is killed leaves the former key or both`() throws {
        for when in 1...12 {
            let home = try ManifestHome()
            try home.write("keys: [{name: k, type: ec}]")
            try home.apply()
            try home.write("keys: [{name: k, type: ec, curve: p384, rotate: true}]")
            let kill = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=unlink,unlinkat:signal=SIGKILL:when=\(when)"]
            let killed = try Tool(
                "/usr/bin/env", kill + [Tool.commandPath, "apply", home.path("site.yaml"), "--allow-destroy-keys"],
                environment: home.home.environment
            ).run()
            let keys = try #require(try home.home.document(["key", "ls", "-k", "site"])["keys"] as? [[String: Any]])
            #expect(!keys.isEmpty, "\(when)")
            let again = try home.keyfob(["apply", home.path("site.yaml"), "--allow-destroy-keys"])
            #expect(again.status == 0, "\(when): \(again.error)")
            let left = try #require(try home.home.document(["key", "ls", "-k", "site"])["keys"] as? [[String: Any]])
            #expect(left.map { $0["type"] as? String } == ["EC P-384"], "\(when)")
            if killed.status == 0 { break }
        }
    }

    @Test(.enabled(if: Machine.canTrace), arguments: ["rename", "fsync"])
    func `an apply that is killed at a system call is continued by the next one`(call: String) throws {
        for when in [1, 5, 9, 14, 20, 27] {
            let home = try home()
            let kill = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=\(call):signal=SIGKILL:when=\(when)"]
            _ = try Tool(
                "/usr/bin/env", kill + [Tool.commandPath, "apply", home.path("site.yaml")],
                environment: home.home.environment
            ).run()
            let again = try home.keyfob(["apply", home.path("site.yaml")])
            #expect(again.status == 0, "\(call) \(when): \(again.error)")
            #expect(try home.isUpToDate(), "\(call) \(when)")
            #expect(try home.text("log") == "ran\n", "\(call) \(when)")
        }
    }
}
