import KeyfobPrimitives

/// The access groups that calls may name, and the default one for new items.
///
/// The group of foreign tokens is at the end of every list: it can be read and never written.
struct AccessGroups: Sendable, Hashable {
    /// The group of items on foreign tokens; the value of `kSecAttrAccessGroupToken`.
    static let token = "com.apple.token"
    /// The name that stands for every group.
    static let any = "*"

    /// The groups, with the default one first and the token group last.
    let names: [String]

    /// The groups of a process that configures none: the group without a name.
    ///
    /// The command and the Swift API store items in it, so that both sides see the same items.
    static let fallback = AccessGroups([""])

    /// Creates a list of groups without duplicates.
    init(_ names: [String]) {
        var unique: [String] = []
        for name in names where name != Self.token && !unique.contains(where: { Self.isSame($0, name) }) {
            unique.append(name)
        }
        self.names = unique + [Self.token]
    }

    /// Parses a comma-separated list of names.
    init(parsing text: String) {
        self.init(text.split(separator: ",").map { $0.drop { $0 == " " } }.map { name in
            String(name.reversed().drop { $0 == " " }.reversed())
        })
    }

    /// The group of an item that is added without one; `nil` if no group can be written.
    var defaultGroup: String? { names.first { $0 != Self.token && $0 != Self.any } ?? (allowsAny ? "" : nil) }

    /// Whether every group is allowed.
    var allowsAny: Bool { names.contains(Self.any) }

    /// Whether the list has no group that can be written.
    var isEmpty: Bool { names.count == 1 }

    /// Whether a call may name `group`.
    func allowsReading(_ group: String) -> Bool { allowsAny || names.contains { Self.isSame($0, group) } }

    /// Compares names by their bytes, as with every other attribute. Canonically equivalent names are different groups.
    private static func isSame(_ one: String, _ other: String) -> Bool { one.isIdentical(to: other) }

    /// Whether items in `group` may be added, changed and deleted.
    func allowsWriting(_ group: String) -> Bool { group != Self.token && allowsReading(group) }

    /// The value for `Criteria.accessGroups`; `nil` for no restriction.
    var searched: [String]? { allowsAny ? nil : names }
}
