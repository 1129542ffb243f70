import Foundation
import Keyfob
import Yams

/// The result of a command, for any of the machine-readable formats.
///
/// The first member is always `"schema": "keyfob/v1"`. New versions add members and never remove them. A member name
/// has one type in all documents, or is null. The members of a command's document do not depend on the state of the
/// keychain: values that are absent, or that only the run can determine, are null.
struct Document: Equatable, Sendable {
    /// The name of the schema that every document of this version follows.
    static let schema = "keyfob/v1"

    /// The members after the schema.
    let members: Members
    /// The list to print as rows of tab-separated values, if there are several lists.
    let listName: String?

    /// Whether the document reports a change that was made (`"changed": true`).
    let tellsOfChange: Bool

    /// The document of a command that changes nothing: these members, in this order.
    ///
    /// - Precondition: The members of an effect are not among them.
    init(_ members: Members, listName: String? = nil) {
        assert(!members.contains { Effect.names.contains($0.name) }, "a change is reported by its effect")
        self.members = members
        self.listName = listName
        tellsOfChange = false
    }

    /// The document of a command that changes something: the members of the effect, then these.
    init(_ effect: Effect, _ members: Members, listName: String? = nil) {
        self.members = effect.members + members
        self.listName = listName
        tellsOfChange = effect.isMade
    }

    private init(_ document: Document, and members: Members) {
        self.members = document.members + members
        listName = document.listName
        tellsOfChange = document.tellsOfChange
    }

    /// Returns the document with further members.
    func adding(_ further: Members) -> Self { Self(self, and: further) }

    /// The document of a command that removes one object, and of its dry run.
    static func removal(of name: String, _ effect: Effect, further: Members = [:]) -> Self {
        Self(effect, ["is_removed": effect.isMade, "name": name] + further)
    }

    /// The whole document, schema first.
    var value: Value { .object(["schema": Self.schema] + members) }

    /// Renders the document in `format`, including the final newline.
    ///
    /// - Parameter isListing: Whether the command lists something; an empty list then prints nothing.
    /// - Throws: `YamlError` of Yams if its emitter fails.
    func rendered(as format: OutputFormat, isListing: Bool = true) throws -> String {
        switch format {
        case .json: value.json + "\n"
        case .yaml: try value.yaml()
        case .env: environmentLines
        case .tsv, .table: tabSeparated(isListing: isListing)
        }
    }

    /// Variables that shells or most programs interpret; output meant for `eval` must not set them.
    private static let reserved: Set = [
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "ENV", "IFS", "TERM", "LANG", "UID", "HOSTNAME", "TMPDIR",
        "CDPATH", "EDITOR", "PAGER", "MAIL",
    ]

    /// `NAME='value'` lines without the schema: names of nested members joined by `_`, in capitals.
    ///
    /// A name that starts with a digit or is reserved gets a leading underscore.
    private var environmentLines: String {
        var lines = ""
        for (path, text) in Value.object(members).leaves() {
            let name = path.joined(separator: "_").uppercased().unicodeScalars.map { scalar -> Character in
                switch scalar {
                case "A"..."Z", "0"..."9", "_": Character(scalar)
                default: "_"
                }
            }
            let isTaken = name.first.map { $0.isNumber } == true || Self.reserved.contains(String(name))
            let safe = isTaken ? "_" + String(name) : String(name)
            // A shell variable cannot hold a zero byte, and dropping it would change the value.
            if text.utf8.contains(0) {
                lines += "\(safe)_B64='\(Data(text.utf8).base64EncodedString())'\n"
            } else {
                lines += "\(safe)=\(ShellWord.singleQuoted(text))\n"
            }
        }
        return lines
    }

    /// One row per element if the document has exactly one list of objects, otherwise one row per member.
    private func tabSeparated(isListing: Bool) -> String {
        var rows: [[String]] = []
        if let list = firstList, isListing || !list.isEmpty {
            var names: [String] = []
            var known: Set<String> = []
            let cells = list.map { element in element.cells().map { ($0.path.joined(separator: "."), $0.text) } }
            for (name, _) in cells.joined() where known.insert(name).inserted { names.append(name) }
            // The names come from the elements, so an empty list has no heading.
            if !names.isEmpty { rows.append(names) }
            for element in cells {
                let texts = Dictionary(element) { first, _ in first }
                rows.append(names.map { texts[$0] ?? "" })
            }
        } else {
            rows = Value.object(members).leaves().map { [$0.path.joined(separator: "."), $0.text] }
        }
        return rows.map { row in row.map(Self.escapedCell).joined(separator: "\t") + "\n" }.joined()
    }

    private var firstList: [Value]? {
        let lists = members.compactMap { member -> [Value]? in
            guard listName == nil || member.name == listName, case .array(let elements) = member.value else {
                return nil
            }
            return elements
        }
        guard lists.count == 1, let list = lists.first else { return nil }
        return list.allSatisfy { if case .object = $0 { true } else { false } } ? list : nil
    }

    /// Escapes a cell of tab-separated values, with JSON's escapes: separators and control characters.
    static func escapedCell(_ text: String) -> String {
        var cell = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": cell += "\\\\"
            case "\t": cell += "\\t"
            case "\n": cell += "\\n"
            case "\r": cell += "\\r"
            case _ where scalar.isControl: cell += scalar.escape
            default: cell.unicodeScalars.append(scalar)
            }
        }
        return cell
    }
}

extension Value {
    /// The value as a YAML document.
    ///
    /// - Throws: `YamlError` of Yams if its emitter fails.
    func yaml() throws -> String { try Yams.serialize(node: yamlNode, allowUnicode: true, sortKeys: false) }

    /// All values other than lists and objects, each with the member names that lead to it.
    fileprivate func leaves(_ path: [String] = []) -> [(path: [String], text: String)] {
        switch self {
        case .null: [(path, "")]
        case .boolean(let flag): [(path, flag ? "true" : "false")]
        case .integer(let number): [(path, String(number))]
        case .string(let text): [(path, text)]
        case .array(let elements):
            elements.enumerated().flatMap { index, element in element.leaves(path + [String(index)]) }
        case .object(let members): members.flatMap { $0.value.leaves(path + [$0.name]) }
        }
    }

    /// Like `leaves`, but with one cell per list, its elements joined by commas.
    ///
    /// Used for rows below a heading, so that the columns do not depend on the length of a list.
    fileprivate func cells(_ path: [String] = []) -> [(path: [String], text: String)] {
        switch self {
        case .array(let elements): [(path, elements.map(\.element).joined(separator: ","))]
        case .object(let members): members.flatMap { $0.value.cells(path + [$0.name]) }
        default: leaves(path)
        }
    }

    /// The value as an element of a comma-separated cell.
    private var element: String {
        switch self {
        case .array, .object: json
        default: leaves().first?.text ?? ""
        }
    }

    private var yamlNode: Node {
        switch self {
        case .null: Node("null", Tag(.null))
        case .boolean(let flag): Node(flag ? "true" : "false", Tag(.bool))
        case .integer(let number): Node(String(number), Tag(.int))
        // Always quoted: YAML would read plain "no", "1e3" and "2025-11-21" as other types.
        case .string(let text): Node(text, Tag(.str), .doubleQuoted)
        case .array(let elements): Node(elements.map(\.yamlNode), Tag(.seq))
        case .object(let members):
            Node(members.map { (Node($0.name, Tag(.str)), $0.value.yamlNode) }, Tag(.map))
        }
    }
}
