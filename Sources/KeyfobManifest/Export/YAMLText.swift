/// The text of a manifest that is being written.
struct YAMLText {
    private(set) var text = ""

    mutating func append(_ other: YAMLText) { text += other.text }

    mutating func line(_ indent: Int, _ content: String) {
        text += String(repeating: " ", count: indent) + content + "\n"
    }

    mutating func member(_ indent: Int, _ name: String, _ value: String?) {
        if let value, !value.isEmpty { line(indent, "\(name): \(Self.scalar(value))") }
    }

    mutating func member(_ indent: Int, _ name: String, _ values: [String]) {
        if !values.isEmpty { line(indent, "\(name): [\(values.map(Self.scalar).joined(separator: ", "))]") }
    }

    /// A scalar: plain if every reader of YAML takes it for text, else in double quotes.
    static func scalar(_ text: String) -> String {
        let isPlain =
            text.wholeMatch(of: /[A-Za-z\/][A-Za-z0-9_.\/@-]*/) != nil
            && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(text.lowercased())
        guard !isPlain else { return text }
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\t": quoted += "\\t"
            case "\r": quoted += "\\r"
            case "\u{20}"..."\u{7E}", "\u{A0}"..."\u{2027}", "\u{202A}"..."\u{D7FF}", "\u{10000}"...:
                quoted.unicodeScalars.append(scalar)
            default:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
            }
        }
        return quoted + "\""
    }
}
