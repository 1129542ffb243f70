extension String {
    /// Without white space and newlines at both ends.
    ///
    /// Foundation's way copies the text into another encoding first: of the time in which a command reads one secret,
    /// it took a fortieth.
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
