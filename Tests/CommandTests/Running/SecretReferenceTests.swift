import Keyfob
import Testing

@testable import KeyfobCLI

/// The grammar of `keyfob://ITEM?NAME=VALUE`.
@Suite struct SecretReferenceTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let text: String
        let name: String
        var keychain: String?
        var user: String?
        var path: String?
        var field = SecretReference.Field.secret
        var testDescription: String { text }
    }

    static let rows = [
        Row(text: "keyfob://db/prod", name: "db/prod"),
        Row(text: "KeyFob://db/prod", name: "db/prod"),
        Row(text: "keyfob:///root", name: "/root"),
        Row(text: "keyfob://my item#1", name: "my item#1"),
        Row(text: "keyfob://my%20item%3F", name: "my item?"),
        Row(text: "keyfob://100%25&more=1", name: "100%&more=1"),
        Row(text: "keyfob://caf%C3%A9", name: "café"),
        Row(text: "keyfob://\u{301}x", name: "\u{301}x"),
        Row(text: "keyfob://a?field=user", name: "a", field: .user), Row(text: "keyfob://a?field=otp", name: "a", field: .otp),
        Row(text: "keyfob://a?keychain=site&user=x%26y=z", name: "a", keychain: "site", user: "x&y=z"),
        Row(text: "keyfob://a?user=", name: "a", user: ""),
        Row(text: "keyfob://a?path=/p?q=1", name: "a", path: "/p?q=1"),
    ]

    @Test(arguments: rows) func `a reference has the parts that it names`(_ row: Row) throws {
        let reference = try SecretReference(parsing: row.text)
        #expect(reference.name.isIdentical(to: row.name))
        #expect(reference.keychain == row.keychain)
        #expect(reference.choice.user == row.user)
        #expect(reference.choice.path == row.path)
        #expect(reference.field == row.field)
    }

    @Test(arguments: rows) func `the text of a reference is a reference to the same`(_ row: Row) throws {
        let text = try SecretReference(parsing: row.text).description
        let again = try SecretReference(parsing: text)
        #expect(again.description == text)
        #expect(again.name.isIdentical(to: row.name))
        #expect(again.choice.user == row.user)
    }

    @Test(arguments: [
        "keyfob:", "keyfob:/db", "op://db", "keyfob://", "keyfob://?field=user", "keyfob://a?", "keyfob://a?field",
        "keyfob://a?field=", "keyfob://a?field=pin", "keyfob://a?fields=user", "keyfob://a?user=x&user=y",
        "keyfob://a?user=x&", "keyfob://a%", "keyfob://a%2", "keyfob://a%zz", "keyfob://a%FF", "keyfob://a\nb",
        "keyfob://a?port=http", "keyfob://a?kind=secret", "keyfob://a?keychain=",
    ])
    func `a malformed reference is refused`(text: String) throws {
        let error = #expect(throws: KeychainError.self) { try SecretReference(parsing: text) }
        #expect(error?.code == .invalidArgument)
    }

    @Test(arguments: ["keyfob://a?kind=generic&port=1", "keyfob://a?port=70000", "keyfob://a?protocol=carrier"])
    func `contradictory choices are refused`(text: String) throws {
        #expect(throws: UsageError.self) { try SecretReference(parsing: text) }
    }

    @Test func `an argument without the scheme is the name itself`() throws {
        #expect(try SecretReference(argument: "100%?field=user").name == "100%?field=user")
        #expect(try SecretReference(argument: "keyfob://100%25").name == "100%")
    }
}
