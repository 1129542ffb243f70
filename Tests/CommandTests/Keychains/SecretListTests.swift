import Foundation
import Testing

@testable import KeyfobCLI

/// Lists of passwords.
@Suite struct SecretListTests {
    /// A household with passwords of both kinds by turns.
    private func household() throws -> Household {
        let household = try Household.unattended()
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
}
