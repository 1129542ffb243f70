import Foundation
import TestSupport
import Testing

/// Homes that were copied, or restored from a backup, without some of Keyfob's files.
@Suite struct RestoredHomeTests {
    private func move(_ old: String, _ new: String) throws {
        if FileManager.default.fileExists(atPath: new) { try FileManager.default.removeItem(atPath: new) }
        try FileManager.default.moveItem(atPath: old, toPath: new)
    }

    /// A home with a secret `a` and an identity `web`, locked, so that the PIN is read again.
    private func household() throws -> TestHome {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        let made = try household.keyfob(["identity", "create", "web", "--cn", "web", "--self-signed"])
        try #require(made.status == 0, "\(made.error)")
        try #require(household.keyfob(["lock"]).status == 0)
        return household
    }

    private func expectWhole(_ household: TestHome) throws {
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
        let checked = try household.keyfob(["identity", "check", "web"])
        #expect(checked.status == 0, "\(checked)")
        #expect(try household.keyfob(["keychain", "check"]).status == 0)
    }

    @Test func `a copied home without its vault does not use the vault of the original`() throws {
        let household = try household()
        let (original, home) = (household.directory.file("home"), household.directory.file("copy"))
        try FileManager.default.copyItem(atPath: original, toPath: home)
        let missing = home + "/.local/share/keyfob/keychains/login/vault.sqlite"
        try FileManager.default.removeItem(atPath: missing)
        let commands = [
            ["identity", "rm", "web", "--yes"], ["secret", "rm", "a", "--yes"], ["set", "b", "--stdin"], ["get", "a"],
            ["keychain", "check"],
        ]
        for command in commands {
            let refused = try household.failure(command, input: Data("x".utf8), environment: ["HOME": home])
            #expect(refused.code == "db.unavailable" && refused.status == 1, "\(command): \(refused)")
            #expect(refused.hint.contains("backup") && refused.hint.contains(missing), "\(command): \(refused.hint)")
        }
        let told = try household.keyfob(["get", "a"], environment: ["HOME": home])
        #expect(told.error.contains("the vault \(missing)"), "\(told.error)")
        try expectWhole(household)
    }

    @Test func `a copied home has its own keychain, whose removal does not affect the original`() throws {
        let household = try household()
        let home = household.directory.file("copy")
        try FileManager.default.copyItem(atPath: household.directory.file("home"), toPath: home)
        let set = try household.keyfob(["set", "b", "--stdin"], input: Data("x".utf8), environment: ["HOME": home])
        #expect(set.status == 0, "\(set.error)")
        #expect(try household.failure(["get", "b"]).code == "item.not_found")
        let removed = try household.keyfob(["keychain", "rm", "login", "--yes"], environment: ["HOME": home])
        #expect(removed.status == 0, "\(removed.error)")
        try expectWhole(household)
    }

    @Test(arguments: [true, false])
    func `the hint for a lost PIN of Keyfob is to restore its file, not to type it`(isCopy: Bool) throws {
        let household = try household()
        let home = household.directory.file(isCopy ? "copy" : "home")
        if isCopy { try FileManager.default.copyItem(atPath: household.directory.file("home"), toPath: home) }
        let (file, away) = (home + "/.local/share/keyfob/keychains/login/pin", household.directory.file("pin"))
        try move(file, away)
        let environment = ["HOME": home]
        func expectRemedy(_ code: String) throws {
            let failure = try household.failure(["get", "a"], environment: environment)
            #expect(failure.code == code && failure.hint.contains("from a backup: \(file)."), "\(failure)")
            #expect(!failure.hint.contains("unlock"), "\(failure.hint)")
        }
        try expectRemedy("file.unavailable")
        // For a PIN file of the user, the hint is to unlock.
        let own = ["get", "a", "--pin-source", "file:" + household.directory.file("none")]
        let other = try household.failure(own, environment: environment)
        #expect(other.code == "file.unavailable" && other.hint.contains("keyfob unlock login"), "\(other)")
        try move(away, file)
        let pin = try Data(contentsOf: URL(fileURLWithPath: file))
        try Data().write(to: URL(fileURLWithPath: file))
        try expectRemedy("pin.required")
        try pin.write(to: URL(fileURLWithPath: file))
        #expect(try household.keyfob(["get", "a"], environment: environment).output == "value\n")
    }

    @Test func `the error for a token with an empty file names its directory`() throws {
        let household = try household()
        let tokens = household.data + "/tokens"
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: tokens).first)
        let file = URL(fileURLWithPath: tokens + "/" + name + "/token.object")
        let whole = try Data(contentsOf: file)
        try Data().write(to: file)
        try FileManager.default.removeItem(atPath: household.data + "/token-copies")
        for command in [["get", "a"], ["keychain", "check"], ["key", "ls"]] {
            let absent = try household.failure(command)
            #expect(absent.code == "token.absent" && absent.status == 7, "\(command): \(absent)")
            #expect(absent.hint.contains("\(tokens)/\(name), which cannot be read"), "\(command): \(absent.hint)")
            #expect(absent.hint.contains("restore token.object"), "\(command): \(absent.hint)")
        }
        try whole.write(to: file)
        try expectWhole(household)
    }

    @Test func `a keychain whose vault is missing is removed only with --without-vault`() throws {
        let household = try household()
        let (vaults, away) = (try household.vault(), household.directory.file("vault"))
        try move(vaults, away)
        let told = try household.failure(["get", "a"])
        #expect(told.code == "db.unavailable" && told.hint.contains("backup"), "\(told)")
        // The hint does not offer to create it again.
        #expect(told.hint.contains("with it the keys and certificates on its token"), "\(told.hint)")
        #expect(told.hint.hasSuffix("keyfob keychain rm login --without-vault"), "\(told.hint)")
        // The status shows that the token is present.
        let status = try household.document(["status"])
        #expect(status["token_present"] as? Bool == true && status["token_model"] is String, "\(status)")
        #expect((status["problem"] as? [String: Any])?["code"] as? String == "db.unavailable", "\(status)")
        #expect(try household.keyfob(["status"]).output.contains("login   present ("))
        for arguments in [["--yes"], ["--yes", "--dry-run"], ["--yes", "--without-token"]] {
            let refused = try household.failure(["keychain", "rm", "login"] + arguments)
            #expect(refused.code == "db.unavailable" && refused.status == 1, "\(arguments): \(refused)")
            #expect(refused.hint.contains("--without-vault"), "\(arguments): \(refused.hint)")
        }
        try move(away, vaults)
        try expectWhole(household)

        try move(vaults, away)
        let command = ["keychain", "rm", "login", "--yes", "--without-vault"]
        let would = try household.keyfob(command + ["--dry-run"])
        #expect(would.status == 0 && would.output.contains("its vault was not found and is not removed"), "\(would)")
        let removed = try household.keyfob(command)
        #expect(removed.status == 0 && removed.output.contains("Its vault was not found"), "\(removed)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: household.data + "/tokens").isEmpty)
        #expect(try household.failure(["status"]).code == "keychain.not_initialized")
    }
}
