import Foundation
import TestSupport
import Testing

/// Backups of tokens where they do harm.
@Suite struct TokenBackupTests {
    @Test func `the backup of a token beside it is told to every keychain, and ends no command by a signal`() throws {
        let household = try Household.unattended()
        try household.set("a", "value")
        let tokens = household.data + "/tokens"
        let own = try #require(try FileManager.default.contentsOfDirectory(atPath: tokens).first)
        try #require(household.keyfob(["keychain", "create", "other", "--unattended"]).status == 0)
        let backup = tokens + "/" + own + ".bak"
        try FileManager.default.copyItem(atPath: tokens + "/" + own, toPath: backup)
        let commands = [
            ["get", "a"], ["set", "b"], ["keychain", "check", "--secrets"], ["set", "b", "-k", "other"],
            ["keychain", "create", "third", "--unattended"],
        ]
        for arguments in commands {
            let failure = try household.failure(arguments, input: Data("x".utf8))
            #expect(failure.code == "token.ambiguous" && failure.status == 4, "\(arguments) \(failure)")
            #expect(failure.hint.contains(backup), "\(arguments) \(failure)")
        }
        try FileManager.default.moveItem(atPath: backup, toPath: household.data + "/" + own + ".bak")
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
        #expect(try household.keyfob(["keychain", "create", "third", "--unattended"]).status == 0)
    }
}
