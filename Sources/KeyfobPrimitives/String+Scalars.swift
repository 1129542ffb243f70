/// Text as tokens, file systems, shells and other programs' parsers see it.
///
/// A Swift character is what a reader sees: "é" is one character however it is composed. A quotation mark followed by a
/// combining accent is a different character from the mark alone. Other programs see Unicode scalars: for a shell that
/// mark ends the word.
extension StringProtocol {
    /// Returns whether two texts consist of the same bytes.
    @inlinable package func isIdentical(to other: some StringProtocol) -> Bool { utf8.elementsEqual(other.utf8) }

    /// Returns whether one of the scalars of `wanted` occurs in the text.
    @inlinable package func contains(scalarOf wanted: String) -> Bool {
        unicodeScalars.contains { wanted.unicodeScalars.contains($0) }
    }

    /// Returns the text with `mark` before each of the scalars of `special`.
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
