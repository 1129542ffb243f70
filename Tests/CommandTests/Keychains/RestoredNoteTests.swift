import Foundation
import TestSupport
import Testing

/// Notes of keychains that were being made: those that a backup brings back, and those that a kill has left.
@Suite struct RestoredNoteTests {
    /// A note beside a keychain that came to be all the same.
    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let witness: DraftNote.Witness
        /// What is done with the keychain when it is there; nothing where that is empty.
        var use: [String] = []
        /// What is asked of it in the end, and how that ends.
        let look: [String]
        var status: Int32 = 0
    }

    static let rows = [
        Row(testDescription: "restored, never used", witness: .restored, look: ["get", "nothing"], status: 3),
        Row(
            testDescription: "restored without its witness, never used", witness: .missing, look: ["get", "nothing"],
            status: 3),
        Row(
            testDescription: "as left here, with a password", witness: .original, use: ["secret", "generate", "a"],
            look: ["get", "a"]),
        Row(
            testDescription: "as left here, with a key", witness: .original, use: ["key", "generate", "a"],
            look: ["key", "pub", "a"]),
    ]

    private func configuration(_ path: String) throws -> [String: Any] {
        let file = try Data(contentsOf: URL(fileURLWithPath: path))
        return try #require(try JSONSerialization.jsonObject(with: file) as? [String: Any])
    }

    private func string(_ name: String, in configuration: [String: Any]) throws -> String {
        try #require(configuration[name] as? String)
    }

    /// What a directory holds whose names have an ending.
    private func count(_ folder: String, _ ending: String = "", in household: Household) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: household.data + "/" + folder)
            .count { $0.hasSuffix(ending) }
    }

    @Test(arguments: rows)
    func `a keychain in use loses nothing to a note of its own creation`(row: Row) throws {
        let household = try Household.unattended()
        let made = try household.keyfob(["keychain", "create", "site", "--unattended"])
        try #require(made.status == 0, "\(made.error)")
        if !row.use.isEmpty { try #require(try household.keyfob(row.use + ["-k", "site"]).status == 0) }
        let (home, away) = (household.directory.file("home"), household.directory.file("site.json"))
        let folder = home + "/.config/keyfob/keychains"
        let site = try configuration(folder + "/site.json")
        try FileManager.default.moveItem(atPath: folder + "/site.json", toPath: away)
        try DraftNote.leave(
            "site", uuid: string("uuid", in: site), ["before": [String](), "made": string("token", in: site)],
            witness: row.witness, home: home, data: household.data)
        let other = try household.keyfob(["keychain", "create", "other", "--unattended"])
        #expect(other.status == 0, "\(other.error)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ["login.json", "other.json"])
        #expect(try count("vaults", ".draft", in: household) == 0)

        try FileManager.default.moveItem(atPath: away, toPath: folder + "/site.json")
        let checked = try household.keyfob(["keychain", "check", "site"])
        #expect(checked.status == 0, "\(checked.output)\(checked.error)")
        let looked = try household.keyfob(row.look + ["-k", "site"])
        #expect(looked.status == row.status, "\(looked.error)")
    }

    @Test func `a token that another home has made since is not taken for one that was left`() throws {
        let household = try Household()
        let (first, second) = (household.directory.file("home"), household.directory.file("second"))
        let shared = household.directory.file("shared")
        func environment(_ home: String) -> [String: String] { ["HOME": home, "XDG_DATA_HOME": shared] }
        // As a creation leaves it that was killed before it had a token.
        try DraftNote.leave(
            "login", uuid: UUID().uuidString, ["before": [String]()], home: second, data: shared + "/keyfob")
        let made = try household.keyfob(["init", "--unattended"], environment: environment(first))
        try #require(made.status == 0, "\(made.error)")
        let stored = try household.keyfob(
            ["set", "a", "--stdin"], input: Data("v".utf8), environment: environment(first))
        try #require(stored.status == 0, "\(stored.error)")
        // The name is taken among the tokens.
        #expect(try household.keyfob(["init", "--unattended"], environment: environment(second)).status == 4)
        let read = try household.keyfob(["get", "a"], environment: environment(first))
        #expect(read.status == 0 && read.output == "v\n", "\(read)")
    }

    @Test(arguments: ["site", "other"])
    func `what a creation has left that was killed before its last step is removed`(name: String) throws {
        let household = try Household.unattended()
        let made = try household.keyfob(["keychain", "create", "site", "--unattended"])
        try #require(made.status == 0, "\(made.error)")
        let home = household.directory.file("home")
        let folder = home + "/.config/keyfob/keychains"
        let site = try configuration(folder + "/site.json")
        try FileManager.default.moveItem(atPath: folder + "/site.json", toPath: folder + "/.site.creating.json")
        try DraftNote.leave(
            "site", uuid: string("uuid", in: site), ["before": [String](), "made": string("token", in: site)],
            home: home, data: household.data)
        let again = try household.keyfob(["keychain", "create", name, "--unattended"])
        #expect(again.status == 0, "\(again.error)")
        for (folder, ending) in [("vaults", ".sqlite"), ("vaults", ".draft"), ("pins", ".pin"), ("tokens", "")] {
            #expect(try count(folder, ending, in: household) == (ending == ".draft" ? 0 : 2), "\(folder) \(ending)")
        }
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        #expect(files == ["login.json", name + ".json"].sorted())
    }
}
