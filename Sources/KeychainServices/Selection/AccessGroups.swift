import KeyfobPrimitives

/// The access groups that calls may name, and the one that an item gets when none is named.
///
/// The group of foreign tokens is in every list, at its end: it can be read and never written.
struct AccessGroups: Sendable, Hashable {
    /// The group of what is on foreign tokens; the value of `kSecAttrAccessGroupToken`.
    static let token = "com.apple.token"
    /// Stands for every group.
    static let any = "*"

    /// The groups, the default one first and that of tokens last.
    let names: [String]

    /// The groups of a process that nobody gave any: the one without a name.
    ///
    /// It is the group of whatever the command and the Swift API store, so that both sides see the same items.
    static let fallback = AccessGroups([""])

    /// A list of groups, of which repetitions are dropped.
    init(_ names: [String]) {
        var unique: [String] = []
        for name in names where name != Self.token && !unique.contains(where: { Self.isSame($0, name) }) {
            unique.append(name)
        }
        self.names = unique + [Self.token]
    }

    /// The groups of a text: names with commas between them.
    init(parsing text: String) {
        self.init(text.split(separator: ",").map { $0.drop { $0 == " " } }.map { name in
            String(name.reversed().drop { $0 == " " }.reversed())
        })
    }

    /// The group of an item that is added without one; `nil` where nothing can be written.
    var defaultGroup: String? { names.first { $0 != Self.token && $0 != Self.any } ?? (allowsAny ? "" : nil) }

    /// Whether every group is allowed.
    var allowsAny: Bool { names.contains(Self.any) }

    /// Whether there is any group that can be written.
    var isEmpty: Bool { names.count == 1 }

    /// Whether a call may name `group`.
    func allowsReading(_ group: String) -> Bool { allowsAny || names.contains { Self.isSame($0, group) } }

    /// Whether two names are one: by their bytes, as in every other attribute, for two that look alike are two groups.
    private static func isSame(_ one: String, _ other: String) -> Bool { one.isIdentical(to: other) }

    /// Whether items may be added to `group`, changed in it and deleted from it.
    func allowsWriting(_ group: String) -> Bool { group != Self.token && allowsReading(group) }

    /// What `Criteria.accessGroups` restricts a search to; `nil` for no restriction.
    var searched: [String]? { allowsAny ? nil : names }
}
