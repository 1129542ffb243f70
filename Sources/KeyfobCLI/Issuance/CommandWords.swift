/// The words of a command that is run without a shell.
enum CommandWords {
    /// Splits at blanks, as a shell does (POSIX XCU 2.2): in '…' everything is literal, in "…" all but a backslash
    /// before `"` and `\`, and elsewhere a backslash takes its meaning from the next character.
    ///
    /// Nothing else that a shell would do is done.
    ///
    /// - Returns: `nil` where a quote or a backslash is left open.
    static func split(_ text: String) -> [String]? {
        var words: [String] = []
        // `nil` between words: '' is a word, too.
        var word: String?
        var quote: Unicode.Scalar?
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            switch (scalar, quote) {
            case ("\\", nil):
                guard let next = rest.popFirst() else { return nil }
                word = (word ?? "") + String(next)
            case ("\\", "\""):
                guard let next = rest.first else { return nil }
                let isEscape = next == "\"" || next == "\\"
                word = (word ?? "") + (isEscape ? String(rest.removeFirst()) : "\\")
            case ("'", nil), ("\"", nil):
                quote = scalar
                word = word ?? ""
            case (quote, _) where quote != nil:
                quote = nil
            case (_, nil) where scalar.properties.isWhitespace:
                if let ended = word { words.append(ended) }
                word = nil
            default:
                word = (word ?? "") + String(scalar)
            }
        }
        guard quote == nil else { return nil }
        return words + (word.map { [$0] } ?? [])
    }
}
