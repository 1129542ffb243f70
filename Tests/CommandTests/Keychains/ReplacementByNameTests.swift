import Foundation
import TestSupport
import Testing

/// The item that `--replace` selects if the options do not state all its attributes.
@Suite struct ReplacementByNameTests {
    @Test(arguments: [
        ("db/prod", ["--user", "app"], []), ("host", ["--kind", "internet", "--user", "u", "--port", "8443"], []),
        ("host", ["--kind", "internet", "--user", "u", "--port", "8443"], ["--kind", "internet"]),
        ("host", ["--kind", "internet", "--user", "u", "--port", "8443"], ["--user", "u", "--kind", "internet"]),
        ("work", ["--server", "mail.example.org", "--user", "u"], []), ("plain", [], []),
    ] as [(String, [String], [String])], ["set", "generate"])
    func `--replace needs only the name if a single item has it`(
        item: (name: String, options: [String], said: [String]), command: String
    ) throws {
        let household = try TestHome.unattended()
        try household.set(item.name, "one", item.options)
        let reference = try household.document(["secret", "show", item.name])["reference_b64"] as? String
        let words = command == "set" ? ["set", item.name, "--stdin"] : ["secret", "generate", item.name]
        for options in [["--dry-run"], []] {
            let document = try household.document(
                words + item.said + ["--replace"] + options, input: command == "set" ? Data("two".utf8) : Data())
            #expect(document["action"] as? String == "update", "\(document)")
            let items = try #require(try household.document(["ls"])["items"] as? [[String: Any]])
            #expect(items.count == 1)
        }
        #expect(try household.document(["secret", "show", item.name])["reference_b64"] as? String == reference)
        #expect((try household.keyfob(["get", item.name]).output == "two\n") == (command == "set"))
    }

    @Test(arguments: [["app", "root"], ["", "app"], ["", "app", "root"]])
    func `--replace needs the account if several items have the name`(accounts: [String]) throws {
        let household = try TestHome.unattended()
        for account in accounts { try household.set("db/prod", "of \(account)", ["--user", account]) }
        for command in [["set", "db/prod", "--stdin"], ["secret", "generate", "db/prod"]] {
            let refused = try household.failure(
                command + ["--replace"], input: command[0] == "set" ? Data("new".utf8) : Data())
            #expect(refused.status == 4, "\(refused)")
            #expect(refused.code == "item.ambiguous")
            #expect(refused.hint.contains("--user"), "\(refused)")
        }
        for account in accounts {
            #expect(try household.keyfob(["get", "db/prod", "--user", account]).output == "of \(account)\n")
            try household.set("db/prod", "new", ["--user", account, "--replace"])
            #expect(try household.keyfob(["get", "db/prod", "--user", account]).output == "new\n")
        }
        let items = try #require(try household.document(["ls"])["items"] as? [[String: Any]])
        #expect(items.count == accounts.count)
    }

    @Test func `--replace adds a missing item`() throws {
        let household = try TestHome.unattended()
        try household.set("db/prod", "one", ["--user", "app"])
        try household.set("db/test", "two", ["--replace"])
        try household.set("db/prod", "three", ["--user", "root", "--replace"])
        let items = try #require(try household.document(["ls"])["items"] as? [[String: Any]])
        #expect(items.count == 3)
        #expect(try household.keyfob(["get", "db/prod", "--user", "app"]).output == "one\n")
    }
}
