import Foundation

/// A JSON value whose members keep their order.
///
/// Dictionaries have no stable order, and output that changes from run to run cannot be compared.
indirect enum Value: Equatable, Sendable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case string(String)
    case array([Value])
    case object(Members)

    /// Bytes in base64, for a member whose name ends in `_b64`.
    static func base64(_ bytes: some DataProtocol) -> Value { .string(Data(bytes).base64EncodedString()) }

    /// A digest as `sha256:` and lower-case hexadecimal digits.
    static func fingerprint(sha256 digest: some Sequence<UInt8>) -> Value {
        .string("sha256:" + digest.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined())
    }
}

extension Value {
    /// The value as compact JSON (RFC 8259) on one line.
    var json: String {
        var text = ""
        write(to: &text)
        return text
    }

    private func write(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .boolean(let flag): text += flag ? "true" : "false"
        case .integer(let number): text += String(number)
        case .string(let string): Self.write(string, to: &text)
        case .array(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { text += "," }
                element.write(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { text += "," }
                Self.write(member.name, to: &text)
                text += ":"
                member.value.write(to: &text)
            }
            text += "}"
        }
    }

    private static func write(_ string: String, to text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            // RFC 8259 requires only U+0000 to U+001F to be escaped. The other characters could control a terminal that
            // shows the line.
            case _ where scalar.isControl: text += scalar.escape
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}

extension Unicode.Scalar {
    /// Whether the scalar can control a terminal or end a line.
    var isControl: Bool {
        switch self {
        case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}": true
        default: false
        }
    }

    /// The JSON escape of a scalar of the basic multilingual plane: `\u` and four hexadecimal digits.
    var escape: String {
        let digits = String(value, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}
