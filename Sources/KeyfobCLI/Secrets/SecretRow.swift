import Foundation
import Keyfob
import KeyfobPrimitives

/// One row of `keyfob set --from-json`: a password, with the members that documents of other commands have.
struct SecretRow {
    /// The members that describe the password.
    private static let described: Set = [
        "name", "user", "kind", "server", "protocol", "port", "path", "label", "comment", "value", "value_b64",
    ]

    /// The members of documents that a new password does not take over.
    private static let ignored = Effect.names.union(["schema", "keychain", "created", "modified", "reference_b64"])

    /// The name, for messages; `nil` if the row has none.
    static func name(in object: JSONSecretObject?) -> String? { object?.value("name")?.text }

    let name: String
    /// The members that select the password, as the options of `keyfob set`.
    let choice: PasswordChoice
    let item: Item
    let label: String?
    let comment: String?
    let value: SecretBytes

    /// Reads a row.
    ///
    /// - Parameters:
    ///   - object: The object; `nil` if it is malformed.
    ///   - allowsEmpty: Whether a value may be empty.
    /// - Throws: `KeychainError.unsupportedFormat` for a row that does not describe a password; `UsageError` for
    ///   attributes that contradict each other.
    init(_ object: JSONSecretObject?, allowsEmpty: Bool) throws {
        guard let object else { throw Self.malformed("this is not a JSON object with different members") }
        if let name = object.names.first(where: { !Self.described.union(Self.ignored).contains($0) }) {
            throw Self.malformed("there is no member \"\(TerminalSafe.text(name))\"")
        }
        if let name = object.names.first(where: { Self.ignored.contains($0) && object.value($0) == nil }) {
            throw Self.malformed("\"\(name)\" has no valid value")
        }
        guard let name = try Self.text("name", in: object) else { throw Self.malformed("the name is missing") }
        let kind = try Self.text("kind", in: object).map { text in
            guard let kind = PasswordChoice.Kind(rawValue: text) else {
                throw Self.malformed("\"kind\" is neither generic nor internet")
            }
            return kind
        }
        var choice = PasswordChoice(user: try Self.text("user", in: object), kind: kind)
        choice.server = try Self.text("server", in: object)
        choice.scheme = try Self.text("protocol", in: object)
        choice.path = try Self.text("path", in: object)
        if object.has("port") {
            guard let port = object.value("port")?.integer else { throw Self.malformed("\"port\" is not a number") }
            choice.port = port
        }
        (self.name, self.choice) = (name, choice)
        (label, comment) = (try Self.text("label", in: object), try Self.text("comment", in: object))
        try choice.check()
        item = try choice.newItem(name, label: label, comment: comment)
        value = try Self.secret(in: object)
        guard allowsEmpty || !value.isEmpty else {
            throw UsageError("the value is empty.", hint: "To store empty values: --allow-empty")
        }
    }

    /// A member that is a string; `nil` if it is null, missing or empty.
    ///
    /// Text with a NUL is refused, because no argument of a command can contain one.
    private static func text(_ name: String, in object: JSONSecretObject) throws -> String? {
        guard object.has(name) else { return nil }
        guard let text = object.value(name)?.text else { throw malformed("\"\(name)\" is not a string") }
        guard !text.utf8.contains(0) else { throw malformed("\"\(name)\" contains a NUL") }
        return text.isEmpty ? nil : text
    }

    private static func secret(in object: JSONSecretObject) throws -> SecretBytes {
        switch (object.has("value"), object.has("value_b64")) {
        case (true, false):
            guard let value = object.secret("value") else { throw malformed("\"value\" is not a string") }
            return value
        case (false, true):
            let decoded = object.secret("value_b64")?.withData { Data(base64Encoded: $0) }
            guard var decoded else { throw malformed("\"value_b64\" is not base64") }
            return SecretBytes(wiping: &decoded)
        case (true, true): throw malformed("it has both \"value\" and \"value_b64\"")
        case (false, false): throw malformed("the value is missing")
        }
    }

    private static func malformed(_ reason: String) -> KeychainError {
        KeychainError(.unsupportedFormat, reason + ".")
    }
}
