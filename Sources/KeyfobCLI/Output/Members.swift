/// The members of an object of a document, in the order in which they are printed.
///
/// A literal takes strings, booleans, integers, dates, objects and lists of these. `nil` becomes `null`.
struct Members: Equatable, Sendable, ExpressibleByDictionaryLiteral, RandomAccessCollection {
    /// One member of an object.
    struct Member: Equatable, Sendable {
        let name: String
        let value: KeyfobCLI.Value
    }

    private var list: [Member]

    init(_ list: [Member]) {
        self.list = list
    }

    init(dictionaryLiteral elements: (String, any ValueConvertible)...) {
        list = elements.map { Member(name: $0, value: $1.documentValue) }
    }

    /// Members with texts as values.
    init(_ texts: [(name: String, value: String)]) {
        list = texts.map { Member(name: $0.name, value: .string($0.value)) }
    }

    var startIndex: Int { list.startIndex }
    var endIndex: Int { list.endIndex }
    subscript(position: Int) -> Member { list[position] }

    static func + (left: Members, right: Members) -> Members { Members(left.list + right.list) }
    static func += (left: inout Members, right: Members) { left.list += right.list }

    /// Returns the members with the values of `known` instead of their own.
    func replacing(_ known: Members) -> Members {
        Members(list.map { member in known.first { $0.name == member.name } ?? member })
    }
}
