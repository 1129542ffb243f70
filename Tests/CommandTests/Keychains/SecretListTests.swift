import Foundation
import Testing

@testable import KeyfobCLI

/// Lists of passwords.
@Suite struct SecretListTests {
    /// A home with passwords of both kinds, in alternating order.
    private func household() throws -> TestHome {
        let household = try TestHome.unattended()
        for (name, options) in [
            ("z.example.org", ["--kind", "internet", "--protocol", "https", "--port", "8443"]), ("generic", []),
            ("a.example.org", ["--kind", "internet"]), ("last", ["--user", "no: \"one\""]),
        ] as [(String, [String])] {
            try household.set(name, "x", options)
        }
        return household
    }

    @Test(arguments: [
        ([], ["z.example.org", "generic", "a.example.org", "last"]), (["--kind", "generic"], ["generic", "last"]),
        (["--kind", "internet"], ["z.example.org", "a.example.org"]), (["--protocol", "https"], ["z.example.org"]),
        (["--user", ""], ["z.example.org", "generic", "a.example.org"]),
    ] as [([String], [String])])
    func `a list has the passwords of both kinds in the order in which they were added`(
        options: [String], names: [String]
    ) throws {
        let household = try household()
        let items = try #require(try household.document(["ls"] + options)["items"] as? [[String: Any]])
        #expect(items.compactMap { $0["name"] as? String } == names)
        let table = try household.keyfob(["ls"] + options).output.split(separator: "\n").dropFirst()
        #expect(table.compactMap { $0.split(separator: " ").first.map(String.init) } == names)
    }

    @Test func `a YAML list is the same document as the JSON list, also if it is empty`() throws {
        let household = try household()
        // Longer than a line that a YAML emitter folds.
        try household.set(String(repeating: "a name ", count: 40) + "\u{e9}\n", "x")
        let members = [
            "name", "user", "kind", "label", "server", "created", "modified", "protocol", "port", "path",
            "reference_b64",
        ]
        func value(_ member: Any?) -> Value {
            if let text = member as? String { return .string(text) }
            return (member as? Int).documentValue
        }
        for options in [[], ["--user", "nobody"]] {
            let items = try #require(try household.document(["ls"] + options)["items"] as? [[String: Any]])
            let list = items.map { item in Members(members.map { Members.Member(name: $0, value: value(item[$0])) }) }
            #expect(list.count == (options.isEmpty ? 5 : 0))
            let whole = Document(["keychain": "login", "items": list, "count": list.count, "damaged": 0])
            let streamed = try household.keyfob(["ls", "--format", "yaml"] + options).output
            #expect(try streamed == whole.rendered(as: .yaml))
        }
    }
}
