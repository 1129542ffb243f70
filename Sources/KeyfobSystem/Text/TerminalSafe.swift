/// Text from outside, made fit for a terminal.
///
/// A label on a token may have been written by anybody. Escape sequences in it could move the cursor,
/// rename the window or, on some terminals, type commands; bidirectional marks could show a host name
/// backwards. Each such character is printed as its escape instead.
package enum TerminalSafe {
    /// `text` with every control and format character spelled out, such as `\x1b` or `\u{202e}`.
    package static func text(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isHidden) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            guard isHidden(scalar) else {
                result.unicodeScalars.append(scalar)
                continue
            }
            switch scalar {
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case "\u{0}"..."\u{7F}":
                result += "\\x" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
            default: result += "\\u{" + String(scalar.value, radix: 16) + "}"
            }
        }
        return result
    }

    /// Whether a character is spelled out.
    package static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .privateUse: return true
        // The joiners are part of words (Persian, Hindi) and of emoji; they only ever join.
        case .format: return scalar != "\u{200C}" && scalar != "\u{200D}"
        default: return false
        }
    }
}
