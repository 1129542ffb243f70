/// The words of a command that runs without a shell.
enum CommandWords {
    /// Splits at blanks, with the quoting rules of a shell (POSIX XCU 2.2).
    ///
    /// In '…' everything is literal. In "…" a backslash escapes only `"` and `\`. Elsewhere a backslash escapes the
    /// next character. There are no expansions.
    ///
    /// - Returns: The words, or `nil` if a quote or a backslash is unterminated.
    static func split(_ text: String) -> [String]? {
        var words: [String] = []
        // `nil` between words, because '' is a word, too.
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
