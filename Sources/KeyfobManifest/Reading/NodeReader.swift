import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobSystem
import PKCS11
import Yams

/// Reads the nodes of a YAML file into records, and collects all errors instead of stopping at the first one.
struct NodeReader {
    private let file: String
    /// The directory of relative paths.
    private let directory: String
    private(set) var problems: [ManifestProblem] = []
    /// The number of nodes that may still be read. Aliases can make a short text describe very many.
    ///
    /// It does not limit Yams, which compares the keys of a mapping before any node is counted. A key that is an alias
    /// of nested lists can keep Yams busy for minutes.
    private var nodesLeft = 0

    /// More nodes than any real manifest has. Reading that many takes less than a second.
    private static let mostNodes = 200_000

    init(file: String, directory: String) {
        self.file = file
        self.directory = directory
    }

    /// Reads the mapping at the top of a file; `nil` if there are only errors.
    mutating func read(_ text: String, as form: RecordForm) -> Record? {
        nodesLeft = Self.mostNodes
        let node: Node?
        // YAML 1.2 allows a byte order mark, which the parser refuses in a text.
        let hasMark = text.unicodeScalars.first == "\u{FEFF}"
        let content = hasMark ? String(text.unicodeScalars.dropFirst()) : text
        do { node = try Yams.compose(yaml: content) } catch let error as YamlError {
            problems.append(problem(error))
            return nil
        } catch {
            problems.append(ManifestProblem("the file cannot be read as YAML", at: place(nil)))
            return nil
        }
        guard let node else {
            problems.append(
                ManifestProblem("the file is empty", at: place(nil), hint: "it begins with: apiVersion: keyfob/v1"))
            return nil
        }
        return record(node, form, isWhole: false)
    }

    private func place(_ mark: Mark?) -> Position {
        Position(file: file, line: max(1, mark?.line ?? 1), column: max(1, mark?.column ?? 1))
    }

    private mutating func report(_ message: String, _ node: Node, hint: String? = nil) {
        problems.append(ManifestProblem(message, at: place(node.mark), hint: hint))
    }

    /// The problem of text that is not YAML. The text itself is not repeated, because it may contain a secret.
    private func problem(_ error: YamlError) -> ManifestProblem {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            ManifestProblem("this is not YAML: \(problem)", at: place(mark))
        case .duplicatedKeysInMapping(let names, let context):
            ManifestProblem("the key \"\(names.first ?? "")\" is there twice", at: place(context.mark))
        default: ManifestProblem("the file is not YAML in UTF-8", at: place(nil))
        }
    }

    // MARK: Records

    /// - Parameter isWhole: Whether all members must be in this mapping. Those at the top may be in several files.
    private mutating func record(_ node: Node, _ form: RecordForm, isWhole: Bool = true) -> Record? {
        guard case .mapping(let mapping) = node else {
            report("a \(form.noun) is a mapping of keys to values", node)
            return nil
        }
        var record = Record(form, at: place(node.mark))
        for (key, value) in mapping where nodesLeft >= 0 {
            guard let name = key.scalar?.string else {
                report("a key must be text", key)
                continue
            }
            guard let field = form.field(name) else {
                refuse(name, key, form)
                continue
            }
            if let value = self.value(value, field.form, of: name) { record.set(name, value) }
        }
        let names = Set(mapping.keys.compactMap { $0.scalar?.string })
        record.given = names
        if isWhole { problems += Self.problems(of: record) }
        return record
    }

    /// The problems of members that a whole record must have, or must not have together.
    static func problems(of record: Record) -> [ManifestProblem] {
        let (form, names) = (record.form, record.given)
        var found = form.fields.filter { $0.isRequired && !names.contains($0.name) }.map { field in
            ManifestProblem("the \(form.noun) lacks \"\(field.name)\"", at: record.position, hint: field.documentation)
        }
        for group in form.alternatives {
            let given = group.filter { names.contains($0) }
            // A literal secret has been refused already.
            guard given.count != 1, !form.holdsSecret || names.isDisjoint(with: literals) else { continue }
            let list = group.map { "\"\($0)\"" }.joined(separator: ", ")
            found.append(
                ManifestProblem(
                    given.isEmpty
                        ? "the \(form.noun) needs one of \(list)" : "the \(form.noun) may have only one of \(list)",
                    at: record.position))
        }
        for (first, second) in form.exclusions where names.contains(first) && names.contains(second) {
            let (other, place) = (record.position(of: first), record.position(of: second))
            found.append(
                ManifestProblem(
                    "\"\(first)\" and \"\(second)\" exclude each other", at: place,
                    hint: other.file == place.file ? nil : "\"\(first)\" is at \(other)"))
        }
        return found
    }

    private static let literals = ["value", "password", "passphrase", "secret", "pin"]

    private mutating func refuse(_ name: String, _ key: Node, _ form: RecordForm) {
        if form.holdsSecret, Self.literals.contains(name.lowercased()) {
            let member = ["valueFrom", "passSource"].first { form.field($0) != nil } ?? "pinSource"
            return report(
                "\"\(name)\" would put a secret into the manifest", key,
                hint: "use \(member): env:NAME, file:PATH, cmd:COMMAND or credential:NAME")
        }
        let names = form.fields.map(\.name)
        let nearest = EditDistance.nearest(to: name, among: names)
        report(
            "unknown key \"\(name)\"", key,
            hint: nearest.map { "did you mean \"\($0)\"?" } ?? "a \(form.noun) has: \(names.joined(separator: ", "))")
    }

    // MARK: Values

    /// Counts a node, and returns whether it may be read. The first one too many is reported.
    private mutating func count(_ node: Node) -> Bool {
        nodesLeft -= 1
        if nodesLeft == -1 {
            report(
                "the manifest has more than \(Self.mostNodes) values", node,
                hint: "aliases repeat what they stand for; write it once")
        }
        return nodesLeft >= 0
    }

    private mutating func value(_ node: Node, _ form: Form, of name: String) -> ReadValue? {
        guard count(node) else { return nil }
        guard let content = content(node, form, of: name) else { return nil }
        return ReadValue(content: content, position: place(node.mark))
    }

    private mutating func content(_ node: Node, _ form: Form, of name: String) -> ReadValue.Content? {
        switch form {
        case .record(let form): return record(node, form).map { .record($0) }
        case .list(let form):
            guard case .sequence(let elements) = node else {
                report("\"\(name)\" is a list", node, hint: "each element on a line that begins with \"- \"")
                return nil
            }
            var values: [ReadValue] = []
            for element in elements where nodesLeft >= 0 {
                if let value = value(element, form, of: name) { values.append(value) }
            }
            return .list(values)
        case .map(let form):
            guard case .mapping(let mapping) = node else {
                report("\"\(name)\" is a mapping of names", node)
                return nil
            }
            return .map(
                mapping.compactMap { key, value in
                    guard let name = key.scalar?.string, !name.isEmpty else {
                        report("a name must be text", key)
                        return nil
                    }
                    return count(value) ? record(value, form).map { (name, $0) } : nil
                })
        default:
            guard let text = scalar(node, of: name) else { return nil }
            return scalarContent(text, node, form, of: name)
        }
    }

    private mutating func scalar(_ node: Node, of name: String) -> String? {
        guard case .scalar(let scalar) = node else {
            report("\"\(name)\" is a single value", node)
            return nil
        }
        let isQuoted = [.singleQuoted, .doubleQuoted].contains(scalar.style)
        guard !scalar.string.isEmpty, isQuoted || !["~", "null"].contains(scalar.string) else {
            report("\"\(name)\" has no value", node)
            return nil
        }
        guard !scalar.string.utf8.contains(0) else {
            report("\"\(name)\" contains a zero byte", node)
            return nil
        }
        return scalar.string
    }

    private mutating func scalarContent(
        _ text: String, _ node: Node, _ form: Form, of name: String
    ) -> ReadValue.Content? {
        switch form {
        case .name:
            let start = text.lowercased()
            guard !text.isBlank, !start.hasPrefix("pkcs11:"), !start.hasPrefix("keyfob://") else {
                report("this cannot be a name, because commands read it as a URI or cannot find it again", node)
                return nil
            }
            return .text(text)
        case .path: return .text(absolute(text))
        case .integer(let range):
            guard let number = Int(text), range.contains(number) else {
                report("\"\(name)\" is a number from \(range.lowerBound) to \(range.upperBound)", node)
                return nil
            }
            return .integer(number)
        case .flag:
            guard let flag = ["true": true, "false": false][text] else {
                report("\"\(name)\" is true or false", node)
                return nil
            }
            return .flag(flag)
        case .choice(let choices):
            guard choices.contains(text) else {
                report("\"\(name)\" is one of \(choices.joined(separator: ", "))", node)
                return nil
            }
            return .text(text)
        case .duration:
            guard text.last?.isLetter ?? false, let duration = Duration(text: text), duration > .zero else {
                report("\"\(name)\" is a number and a unit (s, m, h, d, w, y), such as 90d", node)
                return nil
            }
            return .seconds(duration / .seconds(1))
        case .percentage:
            guard text.last == "%", let number = Int(text.dropLast()), (1...99).contains(number) else {
                report("\"\(name)\" is a percentage from 1% to 99%", node)
                return nil
            }
            return .integer(number)
        case .mode:
            // The initializer also accepts a sign.
            guard (3...4).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x37).contains($0) }),
                let mode = Int(text, radix: 8), mode <= 0o777
            else {
                report("\"\(name)\" is the mode of a file in octal digits, such as 0640", node)
                return nil
            }
            return .integer(mode)
        case .source(let prefixes): return source(text, node, prefixes, of: name)
        default:
            // Plans and errors show these texts, also the words of programs.
            guard !PKCS11URI.seemsToHoldPIN(text) else {
                report(
                    "\"\(name)\" contains a PIN, and a secret must not be written here", node,
                    hint: "leave pin-value out; the source of the PIN is named by \"pinSource\"")
                return nil
            }
            return .text(text)
        }
    }

    /// A source of a secret. No message repeats the text, which may be a secret that was written here by mistake.
    private mutating func source(
        _ text: String, _ node: Node, _ prefixes: [String], of name: String
    ) -> ReadValue.Content? {
        guard let prefix = prefixes.first(where: { text.hasPrefix($0) }) else {
            report(
                "\"\(name)\" is not a source, and a secret must not be written here", node,
                hint: "begin with one of \(prefixes.joined(separator: ", "))")
            return nil
        }
        // "//" begins the form of RFC 8089.
        let path = text.dropFirst(prefix.count)
        let isRelative = prefix == "file:" && !path.hasPrefix("/") && !path.hasPrefix("~/") && !path.isEmpty
        let source = isRelative ? prefix + absolute(String(path)) : text
        do { _ = try PINSource(parsing: source) } catch {
            report("\"\(name)\" is not a source", node, hint: "begin with one of \(prefixes.joined(separator: ", "))")
            return nil
        }
        return .text(source)
    }

    private func absolute(_ path: String) -> String {
        if path.hasPrefix("~/") { return NSHomeDirectory() + path.dropFirst() }
        return URL(fileURLWithPath: path, relativeTo: URL(fileURLWithPath: directory, isDirectory: true))
            .standardizedFileURL.path
    }
}
