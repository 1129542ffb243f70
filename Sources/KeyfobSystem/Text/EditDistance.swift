/// Suggestions for mistyped names.
package enum EditDistance {
    /// Returns the most similar name, if the difference is small enough for a typo.
    package static func nearest(to word: String, among names: some Sequence<String>) -> String? {
        var best: (name: String, distance: Int)?
        for name in names {
            let distance = Self.distance(Array(word.lowercased()), Array(name.lowercased()))
            if distance < best?.distance ?? .max { best = (name, distance) }
        }
        guard let best, best.distance <= max(1, min(3, best.name.count / 2)) else { return nil }
        return best.name
    }

    /// The number of insertions, deletions, replacements and swaps of neighbouring letters.
    package static func distance(_ left: [Character], _ right: [Character]) -> Int {
        // Names are short, but a user can type a word of any length.
        guard left.count <= 64, right.count <= 64 else { return .max }
        var previous = [Int](repeating: 0, count: right.count + 1)
        var current = Array(0...right.count)
        for row in 0..<left.count {
            let older = previous
            previous = current
            current[0] = row + 1
            for column in 0..<right.count {
                let replaced = previous[column] + (left[row] == right[column] ? 0 : 1)
                current[column + 1] = min(replaced, previous[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    current[column + 1] = min(current[column + 1], older[column - 1] + 1)
                }
            }
        }
        return current[right.count]
    }
}
