/// One thing to do about an error: words, and the operation that they propose, if there is one.
///
/// The library does not know how its user starts an operation. A command appends its own command line to `text`, and a
/// graphical program shows a button. Text without an operation is complete by itself.
public struct Remedy: Sendable, Hashable {
    /// What to do, such as `Unlock it`. Without a full stop if an operation follows.
    public let text: String

    /// The operation that the text proposes.
    public let operation: Operation?

    /// Creates a remedy.
    public init(_ text: String, _ operation: Operation? = nil) {
        self.text = text
        self.operation = operation
    }
}

extension Remedy: ExpressibleByStringInterpolation {
    /// Creates a remedy without an operation.
    public init(stringLiteral text: String) { self.init(text) }
}

extension [Remedy] {
    /// The words alone, one remedy a line; `nil` if there is none.
    package var hint: String? { isEmpty ? nil : map(\.text).joined(separator: "\n") }
}
