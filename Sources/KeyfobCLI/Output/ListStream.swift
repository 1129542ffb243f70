/// A document with one list of any length, printed while its elements arrive.
///
/// JSON, YAML and tab-separated values are streamed; `env` is rendered when the list is complete.
struct ListStream: ~Copyable {
    private static let flushSize = 32 << 10

    private let format: OutputFormat
    private let listName: String
    private let first: Members
    private var elements: [Members] = []
    private var count = 0
    /// Text that is not written yet.
    private(set) var buffer = ""

    /// Begins a document with `members` and then the list `listName`.
    init(_ format: OutputFormat, members: Members, listName: String) {
        self.format = format
        self.listName = listName
        first = members
        if format == .json {
            let head = Document(members).value.json
            buffer = head.dropLast() + ",\(Value.string(listName).json):["
        }
    }

    /// Adds an element.
    ///
    /// - Throws: `KeychainError.fileUnavailable` or `diskFull` if standard output cannot be written; `YamlError` of
    ///   Yams.
    mutating func add(_ members: Members) throws {
        defer { count += 1 }
        switch format {
        case .json:
            buffer += (count == 0 ? "" : ",") + Value.object(members).json
        case .tsv:
            if count == 0 { buffer += members.map(\.name).joined(separator: "\t") + "\n" }
            buffer += members.map { Document.escapedCell(Self.text($0.value)) }.joined(separator: "\t") + "\n"
        case .yaml:
            if count == 0 { buffer += try yamlHead() }
            // Yams does not indent lists within an object, so a list of one element can be appended as it is.
            buffer += try [members].documentValue.yaml()
        case .env, .table:
            elements.append(members)
        }
        if buffer.utf8.count >= Self.flushSize { try flush() }
    }

    /// Ends the list, adds `members` after it and prints the rest.
    ///
    /// - Throws: `KeychainError.fileUnavailable` or `diskFull` if standard output cannot be written; `YamlError` of
    ///   Yams.
    mutating func finish(_ members: Members) throws {
        switch format {
        case .json:
            buffer += "]" + members.map { ",\(Value.string($0.name).json):\($0.value.json)" }.joined() + "}\n"
        case .tsv: break
        case .yaml where count > 0:
            if !members.isEmpty { buffer += try Value.object(members).yaml() }
        case .yaml, .env, .table:
            buffer += try Document(first + [listName: elements] + members).rendered(as: format)
        }
        try flush()
    }

    /// The text before the elements of a non-empty YAML list.
    private func yamlHead() throws -> String {
        let empty = try Document(first + [listName: [String]()]).rendered(as: .yaml)
        return empty.dropLast(" []\n".count) + "\n"
    }

    private mutating func flush() throws {
        try StandardOutput.write(buffer)
        buffer = ""
    }

    private static func text(_ value: Value) -> String {
        switch value {
        case .null: ""
        case .string(let text): text
        default: value.json
        }
    }
}
