extension String {
    /// The text without white space and newlines at both ends.
    ///
    /// Foundation's method first copies the text into another encoding. In a command that reads one secret it took a
    /// fortieth of the time.
    package var trimmingBlanks: String {
        var rest = self[...]
        while rest.first?.isWhitespace == true { rest.removeFirst() }
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return String(rest)
    }
    /// Whether nothing of the text can be seen: it is empty, or all white space, control and format characters.
    package var isBlank: Bool {
        unicodeScalars.allSatisfy { scalar in
            scalar.properties.isWhitespace || [.control, .format].contains(scalar.properties.generalCategory)
        }
    }
}
