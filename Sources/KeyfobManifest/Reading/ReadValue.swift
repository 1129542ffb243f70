/// A value that was read from a manifest and has the form that was asked for.
struct ReadValue: Sendable {
    enum Content: Sendable {
        case text(String)
        case integer(Int)
        case flag(Bool)
        case seconds(Double)
        case list([ReadValue])
        case record(Record)
        case map([(name: String, record: Record)])
    }

    let content: Content
    let position: Position

    /// Whether two values are the same, wherever they are.
    static func isSame(_ left: ReadValue, _ right: ReadValue) -> Bool {
        switch (left.content, right.content) {
        case (.text(let left), .text(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.flag(let left), .flag(let right)): left == right
        case (.seconds(let left), .seconds(let right)): left == right
        case (.record(let left), .record(let right)): Record.isSame(left, right)
        case (.list(let left), .list(let right)):
            left.count == right.count && zip(left, right).allSatisfy { isSame($0, $1) }
        default: false
        }
    }
}
