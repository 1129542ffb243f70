import Foundation
import TestSupport
import Testing

/// Backups that are put back, or lie, where they do harm.
@Suite struct BackupTests {
    @Test(.enabled(if: Machine.canTrace))
    func `a vault that is put back beside the log of a killed command is refused, and sound without that`() throws {
        let household = try Household.unattended()
        try household.set("a", "value")
        let vault = try household.vault()
        let backup = try Data(contentsOf: URL(fileURLWithPath: vault))
        for name in ["b", "c"] { try household.set(name, "new") }
        // After the log has been synced, and before it is in the vault.
        let kill = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=fdatasync:signal=SIGKILL:when=3"]
        func setAndDie(_ name: String) throws {
            let command = kill + [Tool.keyfob([]).path, "set", name, "--stdin"]
            _ = try Tool("/usr/bin/env", command, environment: household.environment, input: Data("new".utf8)).run()
            let size = try FileManager.default.attributesOfItem(atPath: vault + "-wal")[.size] as? Int ?? 0
            try #require(size > 0, "the kill has left a log")
        }
        try setAndDie("d")
        // By its own log a vault is whole.
        #expect(try household.keyfob(["get", "d"]).output == "new\n")
        try setAndDie("e")
        try backup.write(to: URL(fileURLWithPath: vault))
        for command in [["get", "a"], ["set", "f"], ["keychain", "check"]] {
            let failure = try household.failure(command, input: Data("x".utf8))
            #expect(failure.code == "db.damaged" && failure.status == 9, "\(command) \(failure)")
            #expect(failure.hint.contains("mv \(vault)-wal \(vault)-wal.old"), "\(failure)")
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: vault)) == backup)
        try FileManager.default.moveItem(atPath: vault + "-wal", toPath: vault + "-wal.old")
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
        #expect(try household.keyfob(["keychain", "check", "--secrets"]).status == 0)
    }

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
