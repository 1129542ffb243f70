import Foundation
import TestSupport
import Testing

/// Creations and removals of keychains that are killed at a system call.
@Suite(.enabled(if: Machine.canTrace)) struct KilledKeychainTests {
    private static let calls = ["mkdir", "rename", "fsync", "unlink", "rmdir"]

    /// Runs the command, and kills it at the `when`th use of a system call, if there are that many.
    private func killed(_ household: TestHome, at call: String, _ when: Int, _ arguments: [String]) throws -> Tool.Result {
        let kill = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=\(call):signal=SIGKILL:when=\(when)"]
        return try Tool(
            "/usr/bin/env", kill + [Tool.keyfob([]).path] + arguments, environment: household.environment
        ).run()
    }

    @Test(arguments: calls)
    func `a killed creation leaves a whole keychain or none, and the name can be used`(call: String) throws {
        let household = try TestHome.unattended()
        for when in 1...7 {
            let name = "k\(when)"
            let create = ["keychain", "create", name, "--unattended"]
            let result = try killed(household, at: call, when, create)
            if try !household.keychains().contains(name) {
                #expect(result.status != 0)
                let again = try household.keyfob(create)
                #expect(again.status == 0, "\(call) \(when): \(again.error)")
            }
            let checked = try household.keyfob(["keychain", "check", name, "--secrets"])
            #expect(checked.status == 0, "\(call) \(when): \(checked)")
            #expect(try household.keyfob(["set", "a", "--stdin", "-k", name], input: Data("v".utf8)).status == 0)
        }
        #expect(try household.directories() == ["k1", "k2", "k3", "k4", "k5", "k6", "k7", "login"])
    }

    @Test(arguments: calls)
    func `a killed removal leaves a whole keychain or none, and can be finished`(call: String) throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        for when in 1...7 {
            let name = "k\(when)"
            let made = try household.keyfob(["keychain", "create", name, "--unattended"])
            try #require(made.status == 0, "\(made.error)")
            try household.set("a", "other", ["-k", name])
            let remove = ["keychain", "rm", name, "--yes"]
            let result = try killed(household, at: call, when, remove)
            if try household.keychains().contains(name) {
                #expect(result.status != 0)
                #expect(try household.keyfob(["get", "a", "-k", name]).output == "other\n", "\(call) \(when)")
            } else {
                #expect(try household.keyfob(["get", "a", "-k", name]).status == 3, "\(call) \(when)")
            }
            let again = try household.keyfob(remove)
            #expect([0, 3].contains(again.status), "\(call) \(when): \(again.error)")
        }
        #expect(try household.directories() == ["login"])
        let tokens = try household.document(["token", "ls"])["tokens"] as? [[String: Any]] ?? []
        #expect(tokens.count { $0["own"] as? Bool == true } == 1, "\(tokens)")
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
    }

    @Test func `a token that no keychain uses is reported with the command that removes it`() throws {
        let household = try TestHome.unattended()
        try #require(household.keyfob(["keychain", "create", "site", "--unattended"]).status == 0)
        try FileManager.default.moveItem(atPath: household.keychain("site"), toPath: household.directory.file("site"))
        let listed = try household.keyfob(["token", "ls"])
        #expect(listed.status == 0 && listed.error.contains("no keychain uses token \"site\""), "\(listed)")
        let checked = try household.keyfob(["keychain", "check"])
        let command = try #require(checked.output.firstMatch(of: /rm -r .+/)?.0, "\(checked)")
        // A keychain with that name can be made nevertheless.
        try #require(household.keyfob(["keychain", "create", "site", "--unattended"]).status == 0)
        #expect(try household.keyfob(["keychain", "show", "site"]).output.contains("site-2"))
        #expect(try Tool("/bin/sh", ["-c", String(command)]).run().status == 0)
        #expect(try !household.keyfob(["keychain", "check"]).output.contains("no keychain uses"))
        for name in ["login", "site"] { #expect(try household.keyfob(["keychain", "check", name]).status == 0) }
    }
}
