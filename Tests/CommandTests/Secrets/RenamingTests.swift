import Foundation
import TestSupport
import Testing

/// `keyfob mv` and `keyfob find`.
@Suite struct RenamingTests {
    private let household: TestHome

    init() throws { household = try .unattended() }

    @Test func `a renamed password keeps its value, its other attributes and its reference`() throws {
        try household.set("old", "value", ["--user", "app", "--comment", "c"])
        let before = try household.document(["secret", "show", "old"])
        let document = try household.document(["mv", "old", "new"])
        #expect(document["action"] as? String == "update")
        #expect(document["name"] as? String == "new")
        #expect(document["old_name"] as? String == "old")
        #expect(try household.keyfob(["get", "new"]).output == "value\n")
        #expect(try household.keyfob(["get", "old"]).status == 3)
        let after = try household.document(["secret", "show", "new"])
        for name in ["user", "comment", "created", "reference_b64"] {
            #expect(after[name] as? String == before[name] as? String, "\(name)")
        }
        #expect(after["label"] as? String == "new")
    }

    @Test func `a label of its own stays, and one of two accounts can be chosen`() throws {
        try household.set("old", "1", ["--user", "a", "--label", "Work"])
        try household.set("old", "2", ["--user", "b"])
        #expect(try household.keyfob(["mv", "old", "new"]).status == 4)
        #expect(try household.keyfob(["mv", "old", "new", "--user", "a"]).status == 0)
        #expect(try household.document(["secret", "show", "new"])["label"] as? String == "Work")
        #expect(try household.keyfob(["get", "old"]).output == "2\n")
    }

    @Test func `an internet password changes its server if that was its name, else its label`() throws {
        try household.set("old.example", "1", ["--protocol", "https"])
        try household.set("work", "2", ["--server", "mail.example"])
        #expect(try household.keyfob(["mv", "old.example", "new.example"]).status == 0)
        #expect(try household.document(["secret", "show", "new.example"])["server"] as? String == "new.example")
        #expect(try household.keyfob(["mv", "work", "home"]).status == 0)
        let shown = try household.document(["secret", "show", "home"])
        #expect(shown["server"] as? String == "mail.example")
        #expect(shown["label"] as? String == "home")
    }

    @Test func `a taken or reserved name changes nothing`() throws {
        try household.set("a", "1")
        try household.set("b", "2")
        #expect(try household.failure(["mv", "a", "b"]).code == "item.exists")
        #expect(try household.keyfob(["mv", "a", "keyfob://x"]).status == 2)
        #expect(try household.keyfob(["mv", "a", "otp:x"]).status == 2)
        #expect(try household.keyfob(["mv", "a", ""]).status == 2)
        #expect(try household.keyfob(["mv", "none", "c"]).status == 3)
        #expect(try household.keyfob(["mv", "a", "c", "--dry-run"]).output.hasPrefix("Would rename a to c"))
        #expect(try household.document(["mv", "a", "a"])["changed"] as? Bool == false)
        #expect(try household.keyfob(["get", "a"]).output == "1\n")
        #expect(try household.keyfob(["get", "b"]).output == "2\n")
    }

    @Test func `a one-time password can be renamed within its kind`() throws {
        let seed = Data("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ".utf8)
        #expect(try household.keyfob(["otp", "set", "x", "--stdin"], input: seed).status == 0)
        #expect(try household.keyfob(["mv", "otp:x", "y"]).error.contains("otp:y"))
        #expect(try household.keyfob(["mv", "otp:x", "otp:y"]).status == 0)
        #expect(try household.keyfob(["otp", "get", "y"]).status == 0)
    }

    @Test(arguments: [
        ("GITHUB", ["github.com", "mirror"]), ("alice", ["mail.example"]), ("prod", ["db"]), ("/repo", ["mirror"]),
        ("value", []),
    ] as [(String, [String])])
    func `items are found by any of their attributes, but not by their values`(text: String, names: [String]) throws {
        try household.set("github.com", "value")
        try household.set("mail.example", "value", ["--user", "Alice", "--kind", "internet"])
        try household.set("db", "value", ["--comment", "the Prod one"])
        try household.set("mirror", "value", ["--server", "github.example", "--path", "/repo"])
        let document = try household.document(["find", text])
        let items = try #require(document["items"] as? [[String: Any]])
        #expect(items.compactMap { $0["name"] as? String } == names)
        #expect(document["count"] as? Int == names.count)
    }

    @Test func `a list without a match says so, and has the options of ls`() throws {
        try household.set("b1", "x")
        try household.set("a1", "x")
        let none = try household.keyfob(["find", "nothing"])
        #expect(none.status == 0)
        #expect(none.error.contains("no item"), "\(none.error)")
        let sorted = try household.keyfob(["find", "1", "--sort", "name", "--format", "tsv"]).output
        #expect(sorted.split(separator: "\n").dropFirst().map { $0.prefix(2) } == ["a1", "b1"])
        #expect(try household.keyfob(["find", ""]).status == 2)
    }
}
