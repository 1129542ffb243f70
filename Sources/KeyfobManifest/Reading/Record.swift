/// A mapping that was read from a manifest.
///
/// Every member has the form of its field. A required member may be missing, because another file can add it; reading
/// a manifest checks that at the end.
struct Record: Sendable {
    let form: RecordForm
    let position: Position
    private(set) var values: [String: ReadValue] = [:]
    /// The names of the members that were given, also with a wrong value.
    var given: Set<String> = []

    init(_ form: RecordForm, at position: Position) {
        self.form = form
        self.position = position
    }

    static func isSame(_ left: Record, _ right: Record) -> Bool {
        left.values.count == right.values.count
            && left.values.allSatisfy { name, value in right.values[name].map { ReadValue.isSame(value, $0) } ?? false }
    }

    mutating func set(_ name: String, _ value: ReadValue) { values[name] = value }

    /// A member. A name that the form does not describe is an error of this program.
    subscript(name: String) -> ReadValue? {
        precondition(form.field(name) != nil, "a \(form.noun) has no member \(name)")
        return values[name]
    }

    func has(_ name: String) -> Bool { self[name] != nil }

    /// The place of a member, or of the record without it.
    func position(of name: String) -> Position { self[name]?.position ?? position }

    func text(_ name: String) -> String? {
        guard case .text(let text) = self[name]?.content else { return nil }
        return text
    }

    func integer(_ name: String) -> Int? {
        guard case .integer(let number) = self[name]?.content else { return nil }
        return number
    }

    func flag(_ name: String) -> Bool {
        guard case .flag(let flag) = self[name]?.content else { return false }
        return flag
    }

    /// A duration in seconds.
    func seconds(_ name: String) -> Double? {
        guard case .seconds(let seconds) = self[name]?.content else { return nil }
        return seconds
    }

    func record(_ name: String) -> Record? {
        guard case .record(let record) = self[name]?.content else { return nil }
        return record
    }

    func list(_ name: String) -> [ReadValue] {
        guard case .list(let values) = self[name]?.content else { return [] }
        return values
    }

    func texts(_ name: String) -> [String] { positionedTexts(name).map(\.value) }

    func positionedTexts(_ name: String) -> [Positioned<String>] {
        list(name).compactMap { value in
            guard case .text(let text) = value.content else { return nil }
            return Positioned(text, at: value.position)
        }
    }

    func records(_ name: String) -> [Record] {
        list(name).compactMap { value in
            guard case .record(let record) = value.content else { return nil }
            return record
        }
    }

    func map(_ name: String) -> [(name: String, record: Record)] {
        guard case .map(let entries) = self[name]?.content else { return [] }
        return entries
    }
}
