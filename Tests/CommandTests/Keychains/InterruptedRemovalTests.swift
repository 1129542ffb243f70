import Foundation
import TestSupport
import Testing

/// Removals of keychains that were killed, or that do not find the token.
@Suite struct InterruptedRemovalTests {
    @Test func `an interrupted removal is finished if the token is already gone`() throws {
        let household = try TestHome.unattended()
        let tokens = household.data + "/tokens"
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: tokens).first)
        try FileManager.default.moveItem(
            atPath: household.keychain(), toPath: household.data + "/keychains/.login.1.removed")
        try FileManager.default.removeItem(atPath: tokens + "/" + name)
        let removed = try household.keyfob(["keychain", "rm", "login", "--yes"])
        #expect(removed.status == 0, "\(removed.error)")
        #expect(try household.directories().isEmpty)
    }

    @Test func `a token that cannot be read is not reported as absent`() throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        let tokens = household.data + "/tokens"
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: tokens).first)
        let (file, copies) = (tokens + "/" + name + "/token.object", household.data + "/token-copies")
        let (kept, keptCopies) = (household.directory.file("token.object"), household.directory.file("copies"))
        // The state after a kill during a login, without a copy to restore.
        try FileManager.default.copyItem(atPath: file, toPath: kept)
        try FileManager.default.moveItem(atPath: copies, toPath: keptCopies)
        try Data().write(to: URL(fileURLWithPath: file))
        for arguments in [["--yes"], ["--yes", "--dry-run"]] {
            let refused = try household.failure(["keychain", "rm", "login"] + arguments)
            #expect(refused.code == "refused" && refused.hint.contains("--without-token"), "\(refused)")
        }
        try Data(contentsOf: URL(fileURLWithPath: kept)).write(to: URL(fileURLWithPath: file))
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
        // The keychain can still be removed with --without-token.
        if FileManager.default.fileExists(atPath: copies) { try FileManager.default.removeItem(atPath: copies) }
        try Data().write(to: URL(fileURLWithPath: file))
        let removed = try household.keyfob(["keychain", "rm", "login", "--yes", "--without-token"])
        #expect(removed.status == 0 && removed.output.contains("not found and is not removed"), "\(removed)")
        #expect(FileManager.default.fileExists(atPath: file))
    }

    @Test func `--without-token removes the token if it is present`() throws {
        let household = try TestHome.unattended()
        let removed = try household.keyfob(["keychain", "rm", "login", "--yes", "--without-token"])
        #expect(removed.status == 0 && removed.output == "Removed keychain \"login\".\n", "\(removed)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: household.data + "/tokens").isEmpty)
    }
}
