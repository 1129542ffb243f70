import Foundation
import TestSupport
import Testing

/// The password that a name selects: the one that lists show under it.
@Suite struct PasswordNameTests {
    /// A home with the password `mail` of one server, and `work mail`, the password of the server `mail`.
    private func household() throws -> TestHome {
        let household = try TestHome.unattended()
        try household.set("mail", "A", ["--server", "imap.example.org", "--user", "me"])
        try household.set("work mail", "B", ["--server", "mail", "--user", "me"])
        return household
    }

    private static let selections = [[], ["--user", "me"], ["--kind", "internet"]]

    /// Edits an item with an editor that replaces the secret.
    private func edit(_ household: TestHome, _ name: String, _ options: [String]) throws -> Tool.Result {
        let script = try household.directory.write(Array("printf C >\"$1\"\n".utf8), to: "editor")
        return try household.keyfob(["secret", "edit", name] + options, environment: ["EDITOR": "sh " + script])
    }

    @Test(arguments: selections)
    func `every command selects the item that lists show under the name`(options: [String]) throws {
        let household = try household()
        #expect(try household.keyfob(["get", "mail"] + options).output == "A\n")
        let shown = try household.document(["secret", "show", "mail"] + options)
        #expect(shown["server"] as? String == "imap.example.org", "\(shown)")
        try #require(household.keyfob(["keychain", "create", "site", "--unattended"]).status == 0)
        let copied = try household.keyfob(["secret", "copy", "mail", "--to", "site"] + options)
        #expect(copied.status == 0, "\(copied.error)")
        #expect(try household.keyfob(["get", "mail", "-k", "site"]).output == "A\n")
        let edited = try edit(household, "mail", options)
        #expect(edited.status == 0, "\(edited.error)")
        #expect(try household.keyfob(["get", "mail"]).output == "C\n")
        #expect(try household.keyfob(["get", "work mail"]).output == "B\n")
    }

    @Test(arguments: selections)
    func `a repeated removal does not remove an item whose server has the name`(options: [String]) throws {
        let household = try household()
        let removed = try household.keyfob(["rm", "mail", "--yes"] + options)
        #expect(removed.output == "Removed \"mail\" of \"me\" from \"login\".\n", "\(removed.error)")
        let quiet = try household.keyfob(["rm", "mail", "--yes", "--if-exists"] + options)
        #expect(quiet.status == 0 && quiet.output.hasPrefix("Nothing to do"), "\(quiet.output)\(quiet.error)")
        let again = try household.failure(["rm", "mail", "--yes"] + options)
        #expect(again.status == 3 && again.hint.hasPrefix("It is the server of another item: keyfob rm "), "\(again)")
        // For reading, the server is enough if lists show no item with that name.
        #expect(try household.keyfob(["get", "mail"] + options).output == "B\n")
        let words = try #require(again.hint.firstMatch(of: /keyfob (rm .*)/)).1
        let told = try Tool(
            "/bin/sh", ["-c", "'\(Tool.keyfob([]).path)' \(words) --yes"], environment: household.environment
        ).run()
        #expect(told.output == "Removed \"work mail\" of \"me\" from \"login\".\n", "\(words): \(told.error)")
    }

    @Test func `--replace refuses a name that is a server of one item and the name of another`() throws {
        let household = try household()
        let workMail = "'work mail' --user=me --kind=internet --server=mail"
        let replace = ["set", "mail", "--kind", "internet", "--user", "me", "--replace", "--stdin"]
        for options in [[], ["--dry-run"], ["--label", "new"]] {
            let refused = try household.failure(replace + options, input: Data("C".utf8))
            #expect(refused.code == "item.ambiguous" && refused.status == 4, "\(options): \(refused)")
            for words in ["mail --user=me --kind=internet --server=imap.example.org", workMail] {
                #expect(refused.hint.contains("keyfob set \(words) --replace"), "\(refused.hint)")
            }
        }
        #expect(try household.failure(["secret", "generate"] + replace[1..<7]).code == "item.ambiguous")
        for (name, value) in [("mail", "A\n"), ("work mail", "B\n")] {
            #expect(try household.keyfob(["get", name]).output == value)
        }
        try household.set("work mail", "D", ["--server", "mail", "--user", "me", "--replace"])
        try household.set("mail", "C", ["--server", "imap.example.org", "--user", "me", "--replace"])
        #expect(try household.keyfob(["get", "work mail"]).output == "D\n")
        #expect(try household.keyfob(["get", "mail"]).output == "C\n")
    }

    @Test func `if items of both kinds have a name, the generic one is read, and a change needs --kind`() throws {
        let household = try household()
        try household.set("mail", "generic")
        #expect(try household.keyfob(["get", "mail"]).output == "generic\n")
        let results = [try household.keyfob(["rm", "mail", "--yes"]), try edit(household, "mail", [])]
        for result in results {
            #expect(result.status == 4, "\(result)")
            #expect(result.error.contains("matches 2 items: generic, internet me@imap.example.org."), "\(result.error)")
            #expect(result.error.contains("Choose one: --kind generic or --kind internet\n"), "\(result.error)")
        }
        #expect(try household.keyfob(["rm", "mail", "--yes", "--kind", "internet"]).status == 0)
        #expect(try household.keyfob(["get", "mail"]).output == "generic\n")
        #expect(try household.keyfob(["get", "mail", "--kind", "internet"]).output == "B\n")
    }

    @Test func `a name that lists show for several items is ambiguous, also if it is a server`() throws {
        let household = try household()
        // Without a label, lists show the server.
        try household.set("mail", "C", ["--kind", "internet", "--label", "", "--user", "other"])
        for command in [["get", "mail"], ["secret", "show", "mail"], ["rm", "mail", "--yes"]] {
            let result = try household.keyfob(command)
            #expect(result.status == 4 && result.error.contains("matches 2 items; accounts: me, other."), "\(result)")
        }
        #expect(try household.keyfob(["get", "mail", "--user", "other"]).output == "C\n")
        #expect(try household.keyfob(["get", "mail", "--server", "mail"]).output == "C\n")
        #expect(try household.keyfob(["get", "work mail", "--server", "mail"]).output == "B\n")
    }

    @Test func `a name that is given twice to rm counts once`() throws {
        let household = try household()
        let removal = try household.document(["rm", "mail", "work mail", "mail", "--yes"])
        let names = (removal["removed"] as? [[String: Any]] ?? []).map { $0["name"] as? String }
        #expect(names == ["mail", "work mail"])
    }
}
