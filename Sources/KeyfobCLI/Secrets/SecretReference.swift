import Foundation
import Keyfob
import KeyfobPrimitives

/// A reference to a password: `keyfob://ITEM[?NAME=VALUE[&NAME=VALUE…]]`.
///
/// ITEM is the name that `keyfob ls` shows, slashes included. `keychain` names the keychain, and `field` an attribute
/// instead of the secret. With `field=otp`, ITEM is a one-time password as `keyfob otp ls` shows it, and its current
/// code is meant. `user`, `kind`, `server`, `protocol`, `port` and `path` choose among items of one name, as the
/// options of `keyfob get` do.
///
/// A `%` and two hexadecimal digits stand for one byte. So `%` itself is `%25`, a `?` in ITEM is `%3F`, and an `&` in a
/// value is `%26`. All other characters stand for themselves, except control characters, which are refused.
struct SecretReference {
    /// The beginning of every reference. Its letters may be capitals.
    static let scheme = "keyfob://"

    /// What a reference means of an item.
    enum Field: String, CaseIterable {
        case secret, otp, user, url, server, `protocol`, port, path, label, comment
    }

    /// The name of the item.
    let name: String
    /// The keychain; `nil` for the one that the command selects.
    var keychain: String?
    /// The options that choose among items of one name.
    var choice = PasswordChoice()
    /// The field of the item.
    var field = Field.secret

    /// Whether a text begins like a reference.
    static func isReference(_ text: String) -> Bool {
        // By bytes: a combining mark after the last slash belongs to the name.
        let start = text.utf8.prefix(scheme.utf8.count)
        return String(decoding: start, as: UTF8.self).lowercased().isIdentical(to: scheme)
    }

    /// The secret of the item with this name.
    init(name: String) { self.name = name }

    /// Creates the reference that an argument means: a reference, or the bare name of an item.
    ///
    /// - Throws: `KeychainError.invalidArgument` for a malformed reference; `UsageError` for contradictory options.
    init(argument: String) throws {
        self = try Self.isReference(argument) ? Self(parsing: argument) : Self(name: argument)
    }

    /// Parses a reference.
    ///
    /// - Throws: `KeychainError.invalidArgument` for a malformed reference; `UsageError` for contradictory options.
    init(parsing text: String) throws {
        guard Self.isReference(text) else { throw Self.malformed(text, "it does not begin with \(Self.scheme)") }
        guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw Self.malformed(text, "it contains a control character")
        }
        let rest = Substring(text.unicodeScalars.dropFirst(Self.scheme.count))
        let parts = Self.split(rest, at: "?", once: true)
        name = try Self.decoded(parts[0], in: text)
        guard !name.isEmpty else { throw Self.malformed(text, "it names no item") }
        guard parts.count > 1 else { return }
        var known: Set<String> = []
        for part in Self.split(parts[1], at: "&", once: false) {
            let words = Self.split(part, at: "=", once: true)
            let key = String(words[0])
            guard words.count == 2 else { throw Self.malformed(text, "\"\(key)\" has no value") }
            guard known.insert(key).inserted else { throw Self.malformed(text, "it has \"\(key)\" twice") }
            try set(key, to: Self.decoded(words[1], in: text), in: text)
        }
        try choice.check()
    }

    /// The parts of a text between separators; at least one.
    ///
    /// A combining mark after a separator belongs to the next part.
    private static func split(_ text: Substring, at separator: Unicode.Scalar, once: Bool) -> [Substring] {
        text.unicodeScalars.split(
            separator: separator, maxSplits: once ? 1 : Int.max, omittingEmptySubsequences: false
        ).map { Substring($0) }
    }

    private mutating func set(_ key: String, to value: String, in text: String) throws {
        switch key {
        case "keychain":
            guard !value.isEmpty else { throw Self.malformed(text, "the name of the keychain is empty") }
            keychain = value
        case "field":
            guard let field = Field(rawValue: value) else {
                let all = Field.allCases.map(\.rawValue).joined(separator: ", ")
                throw Self.malformed(text, "there is no field \"\(value)\"; there are \(all)")
            }
            self.field = field
        case "user": choice.user = value
        case "kind":
            guard let kind = PasswordChoice.Kind(rawValue: value) else {
                throw Self.malformed(text, "a kind is generic or internet")
            }
            choice.kind = kind
        case "server": choice.server = value
        case "protocol": choice.scheme = value
        case "port":
            guard let port = Int(value) else { throw Self.malformed(text, "a port is a number") }
            choice.port = port
        case "path": choice.path = value
        default:
            throw Self.malformed(
                text, "\"\(key)\" is unknown; there are keychain, field, user, kind, server, protocol, port and path")
        }
    }

    /// Replaces `%` and two hexadecimal digits by the byte that they stand for.
    private static func decoded(_ part: Substring, in text: String) throws -> String {
        guard part.utf8.contains(UInt8(ascii: "%")) else { return String(part) }
        var bytes: [UInt8] = []
        var rest = part.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            guard digits.count == 2 else {
                throw malformed(text, "a \"%\" must be followed by two hexadecimal digits; \"%\" itself is %25")
            }
            bytes.append(UInt8(digits[0] * 16 + digits[1]))
            rest = rest.dropFirst(2)
        }
        guard let decoded = String(validating: bytes, as: UTF8.self) else {
            throw malformed(text, "its %-encoding is not UTF-8")
        }
        return decoded
    }

    private static func malformed(_ text: String, _ reason: String) -> KeychainError {
        KeychainError(
            .invalidArgument, "\"\(TerminalSafe.text(text))\" is not a reference: \(TerminalSafe.text(reason)).",
            hint: "The form is keyfob://ITEM, such as keyfob://db/prod or keyfob://db/prod?field=user",
            details: ["reference": text])
    }
}

extension SecretReference: CustomStringConvertible {
    /// The reference, with all characters that have a meaning encoded.
    var description: String {
        let values: [(String, String?)] = [
            ("keychain", keychain), ("user", choice.user), ("kind", choice.kind?.rawValue), ("server", choice.server),
            ("protocol", choice.scheme), ("port", choice.port.map { String($0) }), ("path", choice.path),
            ("field", field == .secret ? nil : field.rawValue),
        ]
        let query = values.compactMap { key, value in value.map { key + "=" + Self.encoded($0) } }
        return Self.scheme + Self.encoded(name) + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
    }

    private static func encoded(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            // Only ASCII has special characters here; a control character beyond it is encoded byte by byte.
            guard "%?&".unicodeScalars.contains(scalar) || scalar.properties.generalCategory == .control else {
                result.unicodeScalars.append(scalar)
                continue
            }
            for byte in String(scalar).utf8 { result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16) }
        }
        return result
    }
}
