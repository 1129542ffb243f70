import Foundation
import TestSupport
import Testing

/// Removals of keychains that were killed, or that do not find the token.
@Suite struct InterruptedRemovalTests {
    @Test func `a removal that was interrupted keeps the PIN of a token that is out of sight`() throws {
        let household = try Household.unattended()
        try household.set("a", "value")
        let folder = household.directory.file("home/.config/keyfob/keychains")
        func move(_ old: String, _ new: String) throws {
            if FileManager.default.fileExists(atPath: new) { try FileManager.default.removeItem(atPath: new) }
            try FileManager.default.moveItem(atPath: old, toPath: new)
        }
        let hidden = ["tokens", "token-copies"]
        // As it is when the process is killed after its first step, and the tokens' file system goes after that.
        try move(folder + "/login.json", folder + "/.login.removing")
        for name in hidden { try move(household.data + "/" + name, household.directory.file(name)) }
        for command in [["keychain", "rm", "login", "--yes"], ["keychain", "create", "login", "--unattended"]] {
            let refused = try household.failure(command)
            #expect(refused.code == "token.absent" && refused.hint.contains("--without-token"), "\(refused)")
        }
        for name in hidden { try move(household.directory.file(name), household.data + "/" + name) }
        try move(folder + "/.login.removing", folder + "/login.json")
        #expect(try household.keyfob(["get", "a"]).output == "value\n")

        try move(folder + "/login.json", folder + "/.login.removing")
        for name in hidden { try FileManager.default.removeItem(atPath: household.data + "/" + name) }
        let removed = try household.keyfob(["keychain", "rm", "login", "--yes", "--without-token"])
        #expect(removed.status == 0, "\(removed.error)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: household.data + "/pins").isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }

    /// What a kill leaves when the token has left SoftHSM's directory, and when that has been noted.
    @Test(arguments: [".removing", ".removing-rest"])
    func `a removal that was interrupted when its token was gone is finished`(note: String) throws {
        let household = try Household.unattended()
        let folder = household.directory.file("home/.config/keyfob/keychains")
        let tokens = household.data + "/tokens"
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: tokens).first)
        try FileManager.default.moveItem(atPath: folder + "/login.json", toPath: folder + "/.login" + note)
        if note == ".removing" {
            try FileManager.default.moveItem(
                atPath: tokens + "/" + name, toPath: household.data + "/destroyed-" + name)
        } else {
            try FileManager.default.removeItem(atPath: tokens + "/" + name)
        }
        let removed = try household.keyfob(["keychain", "rm", "login", "--yes"])
        #expect(removed.status == 0, "\(removed.error)")
        let left = try FileManager.default.contentsOfDirectory(atPath: household.data)
        #expect(!left.contains { $0.hasPrefix("destroyed-") }, "\(left)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: household.data + "/pins").isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }

    @Test(arguments: [
        ["rm", "login", "--yes"], ["rm", "login", "--yes", "--without-token"], ["create", "login", "--unattended"],
    ])
    func `a token that was put back after its removal was stopped keeps all that opens it`(command: [String]) throws {
        let household = try Household.unattended()
        try household.set("a", "value")
        let folder = household.directory.file("home/.config/keyfob/keychains")
        // As a kill leaves it when the token is gone; token, PIN and vault are back, as from a backup.
        try FileManager.default.moveItem(
            atPath: folder + "/login.json", toPath: folder + "/.login.removing-rest")
        let absent = try household.failure(["get", "a"])
        #expect(absent.code == "keychain.not_initialized" && absent.hint.contains("mv -n "), "\(absent)")
        let refused = try household.failure(["keychain"] + command)
        #expect(refused.code == "refused", "\(refused)")
        let other = try household.keyfob(["keychain", "create", "other", "--unattended"])
        #expect(other.status == 0, "\(other.error)")

        // The way back that is told.
        let way = try #require(refused.hint.firstMatch(of: /mv -n .+/)?.0, "\(refused)")
        #expect(try Tool("/bin/sh", ["-c", String(way)]).run().status == 0)
        #expect(try household.keyfob(["get", "a", "-k", "login"]).output == "value\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ["login.json", "other.json"])
    }

    @Test func `a token that may be the one that cannot be read is not said to be absent`() throws {
        let household = try Household.unattended()
        try household.set("a", "value")
        let tokens = household.data + "/tokens"
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: tokens).first)
        let (file, copies) = (tokens + "/" + name + "/token.object", household.data + "/token-copies")
        let (kept, keptCopies) = (household.directory.file("token.object"), household.directory.file("copies"))
        // As a kill leaves it in the middle of a login, where there is no copy to be put back.
        try FileManager.default.copyItem(atPath: file, toPath: kept)
        try FileManager.default.moveItem(atPath: copies, toPath: keptCopies)
        try Data().write(to: URL(fileURLWithPath: file))
        for arguments in [["--yes"], ["--yes", "--dry-run"]] {
            let refused = try household.failure(["keychain", "rm", "login"] + arguments)
            #expect(refused.code == "refused" && refused.hint.contains("--without-token"), "\(refused)")
        }
        try Data(contentsOf: URL(fileURLWithPath: kept)).write(to: URL(fileURLWithPath: file))
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
        // There is a way out all the same.
        if FileManager.default.fileExists(atPath: copies) { try FileManager.default.removeItem(atPath: copies) }
        try Data().write(to: URL(fileURLWithPath: file))
        let removed = try household.keyfob(["keychain", "rm", "login", "--yes", "--without-token"])
        #expect(removed.status == 0 && removed.output.contains("not found and is not removed"), "\(removed)")
        #expect(FileManager.default.fileExists(atPath: file))
    }

    @Test func `a keychain whose token is there loses it also where it might have stayed`() throws {
        let household = try Household.unattended()
        let removed = try household.keyfob(["keychain", "rm", "login", "--yes", "--without-token"])
        #expect(removed.status == 0 && removed.output == "Removed keychain \"login\".\n", "\(removed)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: household.data + "/tokens").isEmpty)
    }
}
