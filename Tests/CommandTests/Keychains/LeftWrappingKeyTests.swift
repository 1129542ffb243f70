import Foundation
import TestSupport
import Testing

/// Objects that a failed attempt to make a keychain leaves on a token that Keyfob did not make.
@Suite struct LeftWrappingKeyTests {
    /// A home with a token `card`, the module that can be told to fail, and the environment for commands.
    private func household() throws -> (TestHome, module: String, [String: String]) {
        let household = try TestHome()
        let module = household.directory.file("faulty.so")
        try FaultyModule.build(module)
        let environment = try household.makeCard().merging(["FAULTY_TARGET": TestToken.modulePath]) { $1 }
        return (household, module, environment)
    }

    private func create(
        _ name: String = "card", in household: TestHome, _ module: String, _ environment: [String: String],
        refusing words: String = ""
    ) throws -> Tool.Result {
        try household.keyfob(
            [
                "keychain", "create", name, "--token", "card", "--module", module, "--pin-source", "env:CARD_PIN",
            ], environment: environment.merging(["FAULTY_REFUSE": words]) { $1 })
    }

    /// The number of secret keys on the token.
    private func secretKeys(_ environment: [String: String]) throws -> Int {
        try listSecretKeys(environment).components(separatedBy: "Secret Key Object").count - 1
    }

    private func listSecretKeys(_ environment: [String: String]) throws -> String {
        let listed = try Tool(
            "/usr/bin/env",
            [
                "pkcs11-tool", "--module", TestToken.modulePath, "--token-label", "card", "--login", "--pin",
                "env:CARD_PIN", "--list-objects", "--type", "secrkey",
            ], environment: environment
        ).run()
        try #require(listed.status == 0, "\(listed.error)")
        return listed.output
    }

    @Test func `a key that the token made without reporting it is removed after the failure`() throws {
        let (household, module, environment) = try household()
        let failed = try create(in: household, module, environment, refusing: "lose-key")
        #expect(failed.status != 0)
        #expect(try secretKeys(environment) == 0)
        // There is nothing left to remove.
        #expect(try household.keyfob(["keychain", "rm", "card", "--yes"], environment: environment).status != 0)
    }

    @Test(arguments: ["die", "lose-key answer=C_DestroyObject,0x80000114"])
    func `a key left by a kill or a refusal does not prevent a new keychain`(words: String) throws {
        let (household, module, environment) = try household()
        #expect(try create(in: household, module, environment, refusing: words).status != 0)
        let left = try secretKeys(environment)
        #expect(left > 0)
        for name in ["card", "other"] {
            let made = try create(name, in: household, module, environment)
            try #require(made.status == 0, "\(made.error)")
        }
        // No command was asked to destroy the left key.
        #expect(try secretKeys(environment) == left + 2)
        #expect(try household.directories() == ["card", "other"])
        let options = ["--pin-source", "env:CARD_PIN"]
        for name in ["card", "other"] {
            let checked = try household.keyfob(["keychain", "check", name] + options, environment: environment)
            #expect(checked.status == 0, "\(checked.output)\(checked.error)")
        }
    }

    @Test func `an unused wrapping key can be removed by its name, but not the one in use`() throws {
        let (household, module, environment) = try household()
        #expect(try create(in: household, module, environment, refusing: "die").status != 0)
        _ = try household.keyfob(["keychain", "rm", "card", "--yes"], environment: environment)
        let made = try create(in: household, module, environment)
        try #require(made.status == 0, "\(made.error)")
        #expect(try secretKeys(environment) == 2)
        let remove = ["key", "rm", "keyfob-wrap-1-card", "--yes", "-k", "card", "--pin-source", "env:CARD_PIN"]
        let removed = try household.keyfob(remove, environment: environment)
        #expect(removed.status == 0, "\(removed.error)")
        #expect(try secretKeys(environment) == 1)
        #expect(try household.failure(remove, environment: environment).code == "refused")
    }
}
