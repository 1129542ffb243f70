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

    @Test func `an apply that is killed at any moment is continued by the next one`() throws {
        // The time of a whole apply bounds the moments.
        let whole = try home()
        let start = ContinuousClock.now
        try whole.apply()
        let duration = ContinuousClock.now - start
        for number in 0..<20 {
            let home = try home()
            let moment = duration * Double.random(in: 0...1)
            let tool = Tool(
                "/usr/bin/timeout", ["-s", "KILL", "\(moment / .seconds(1))", Tool.commandPath, "apply", home.path("site.yaml")],
                environment: home.home.environment)
            _ = try tool.run()
            let again = try home.keyfob(["apply", home.path("site.yaml")])
            #expect(again.status == 0, "\(number), \(moment): \(again.error)")
            #expect(try home.isUpToDate(), "\(number), \(moment)")
            #expect(try home.text("log") == "ran\n", "\(number), \(moment)")
            #expect(try home.keyfob(["get", "a", "-k", "site"]).output == home.text("a.txt") + "\n", "\(number), \(moment)")
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
