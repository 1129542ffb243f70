import Foundation
import TestSupport
import Testing

/// What an attempt to make a keychain leaves on a token that somebody else made.
@Suite struct LeftWrappingKeyTests {
    /// A household with a token `card`, and what commands need to reach it through a module that can be told to fail.
    private func household() throws -> (Household, module: String, [String: String]) {
        let household = try Household()
        let module = household.directory.file("faulty.so")
        try FaultyModule.build(module)
        let environment = try household.makeCard().merging(["FAULTY_TARGET": TestToken.modulePath]) { $1 }
        return (household, module, environment)
    }

    private func create(
        _ name: String = "card", in household: Household, _ module: String, _ environment: [String: String],
        refusing words: String = ""
    ) throws -> Tool.Result {
        try household.keyfob(
            [
                "keychain", "create", name, "--token", "card", "--module", module, "--pin-source", "env:CARD_PIN",
            ], environment: environment.merging(["FAULTY_REFUSE": words]) { $1 })
    }

    /// How many secret keys are on the token.
    private func secretKeys(_ environment: [String: String]) throws -> Int {
        try listSecretKeys(environment).components(separatedBy: "Secret Key Object").count - 1
    }

    /// The `CKA_ID` of the only secret key on the token.
    private func secretKeyID(_ environment: [String: String]) throws -> Data {
        let list = try listSecretKeys(environment)
        var digits = try #require(list.firstMatch(of: /ID: +([0-9a-f]{40})/)?.1, "\(list)")
        var id = Data()
        while !digits.isEmpty {
            id.append(try #require(UInt8(digits.prefix(2), radix: 16)))
            digits = digits.dropFirst(2)
        }
        return id
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

    @Test func `a key that the token made and did not tell of is removed with the attempt that failed`() throws {
        let (household, module, environment) = try household()
        let failed = try create(in: household, module, environment, refusing: "lose-key")
        #expect(failed.status != 0)
        #expect(try secretKeys(environment) == 0)
        // And nothing of it is left to be removed.
        #expect(try household.keyfob(["keychain", "rm", "card", "--yes"], environment: environment).status != 0)
    }

    @Test(arguments: ["die", "lose-key keep=0"])
    func `a key that a kill or a refusal has left is removed when the keychain is made again`(words: String) throws {
        let (household, module, environment) = try household()
        #expect(try create(in: household, module, environment, refusing: words).status != 0)
        let left = try secretKeys(environment)
        #expect(left > 0)
        // Another keychain leaves it alone, and does not forget it.
        let other = try create("other", in: household, module, environment)
        try #require(other.status == 0, "\(other.error)")
        #expect(try secretKeys(environment) == left + 1)
        let made = try create(in: household, module, environment)
        try #require(made.status == 0, "\(made.error)")
        #expect(try secretKeys(environment) == 2)
        let options = ["--pin-source", "env:CARD_PIN"]
        for name in ["card", "other"] {
            let checked = try household.keyfob(["keychain", "check", name] + options, environment: environment)
            #expect(checked.status == 0, "\(checked.output)\(checked.error)")
        }
    }

    @Test func `a key is not forgotten where the keychain is as good as made and does not get its name`() throws {
        let (household, module, environment) = try household()
        // Its configuration is written, and cannot be renamed.
        let file = household.directory.file("home/.config/keyfob/keychains/card.json")
        let failed = try create(in: household, module, environment, refusing: "block=\(file) keep=0")
        try #require(failed.status != 0 && failed.error.contains("card.json"), "\(failed.error)")
        try #require(unsafe rmdir(file) == 0)
        #expect(try secretKeys(environment) == 1)
        let other = try create("other", in: household, module, environment)
        try #require(other.status == 0, "\(other.error)")
        let made = try create(in: household, module, environment)
        try #require(made.status == 0, "\(made.error)")
        #expect(try secretKeys(environment) == 2)
        let checked = try household.keyfob(
            ["keychain", "check", "card", "--pin-source", "env:CARD_PIN"], environment: environment)
        #expect(checked.status == 0, "\(checked.output)\(checked.error)")
    }

    @Test(arguments: [DraftNote.Witness.restored, .original])
    func `a note of a key that has sealed a keychain since does not take the key away`(
        witness: DraftNote.Witness
    ) throws {
        let (household, module, environment) = try household()
        let made = try create(in: household, module, environment)
        try #require(made.status == 0, "\(made.error)")
        let options = ["-k", "card", "--pin-source", "env:CARD_PIN"]
        let stored = try household.keyfob(
            ["set", "a", "--stdin"] + options, input: Data("value".utf8), environment: environment)
        try #require(stored.status == 0, "\(stored.error)")
        let (home, away) = (household.directory.file("home"), household.directory.file("card.json"))
        let file = home + "/.config/keyfob/keychains/card.json"
        let json = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: file)))
        let configuration = try #require(json as? [String: Any])
        try FileManager.default.moveItem(atPath: file, toPath: away)
        try DraftNote.leave(
            "card", uuid: try #require(configuration["uuid"] as? String),
            [
                "token": try #require(configuration["token"] as? String),
                "wrappingKeys": [try secretKeyID(environment).base64EncodedString()],
            ], witness: witness, home: home, data: household.data)
        let again = try create(in: household, module, environment)
        #expect(again.status == 0, "\(again.error)")
        #expect(try secretKeys(environment) == 2)

        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.moveItem(atPath: away, toPath: file)
        #expect(try household.keyfob(["get", "a"] + options, environment: environment).output == "value\n")
    }

    @Test func `what is removed of a keychain that was never made names the key that may be left, and how`() throws {
        let (household, module, environment) = try household()
        #expect(try create(in: household, module, environment, refusing: "die").status != 0)
        let removed = try household.keyfob(["keychain", "rm", "card", "--yes"], environment: environment)
        #expect(removed.status == 0, "\(removed.error)")
        let id = try #require(
            removed.output.firstMatch(of: /--type secrkey --id ([0-9a-f]{40})/)?.1, "\(removed.output)")
        let deleted = try Tool(
            "/usr/bin/env",
            [
                "pkcs11-tool", "--module", TestToken.modulePath, "--token-label", "card", "--login", "--pin",
                "env:CARD_PIN", "--delete-object", "--type", "secrkey", "--id", String(id),
            ], environment: environment
        ).run()
        #expect(deleted.status == 0, "\(deleted.error)")
        #expect(try secretKeys(environment) == 0)
    }

    @Test func `a key that was to seal a keychain is removed by its name, and the one that seals it stays`() throws {
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
