/// A place in a manifest.
package struct Position: Hashable, Sendable, CustomStringConvertible {
    /// The name of the file, as the user gave it.
    package let file: String
    /// The line; the first one is 1.
    package let line: Int
    /// The column in characters; the first one is 1.
    package let column: Int

    package init(file: String, line: Int, column: Int) {
        self.file = file
        self.line = line
        self.column = column
    }

    /// The form that compilers print and editors understand.
    package var description: String { "\(file):\(line):\(column)" }
}

/// A value and its place in a manifest.
package struct Positioned<Value: Sendable>: Sendable {
    package let value: Value
    package let position: Position

    package init(_ value: Value, at position: Position) {
        self.value = value
        self.position = position
    }
}
