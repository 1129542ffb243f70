/// Text as tokens, file systems, shells and the parsers of other programs see it.
///
/// To Swift a character is what a reader sees: "é" is one however it is composed, and a quotation mark that a combining
/// accent follows is another character than the mark alone. Everything outside of Swift sees the scalars: to a shell
/// that mark ends the word.
extension StringProtocol {
    /// Whether two texts are made of the same bytes.
    @inlinable package func isIdentical(to other: some StringProtocol) -> Bool { utf8.elementsEqual(other.utf8) }

    /// Whether one of the scalars of `wanted` occurs.
    @inlinable package func contains(scalarOf wanted: String) -> Bool {
        unicodeScalars.contains { wanted.unicodeScalars.contains($0) }
    }

    /// The text with `mark` before each of the scalars of `special`.
    @inlinable package func escaping(_ special: String, with mark: String = "\\") -> String {
        guard contains(scalarOf: special) else { return String(self) }
        var result = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            if special.unicodeScalars.contains(scalar) { result += mark.unicodeScalars }
            result.append(scalar)
        }
        return String(result)
    }
}
