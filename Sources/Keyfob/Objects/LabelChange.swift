import Foundation

/// What a new label of some items means for their objects and for the items beside them.
struct LabelChange {
    /// One item of an object: the row it has, or will have.
    struct Part {
        let itemClass: ItemClass
        let object: TokenObject
        let identity: Data?
    }

    /// The objects that get the label.
    private(set) var relabelled: [TokenObject] = []
    /// Rows beside the changed ones that had their label from the object, and keep it.
    private(set) var staying: [Part] = []
    private var own: Set<Data> = []
    private let label: AttributeValue?

    /// - Parameter rows: The rows of an object, and whether each has a label of its own.
    init(
        _ label: AttributeValue?, of parts: [Part], rows: (TokenObject) throws -> [(identity: Data, hasOwnLabel: Bool)]
    ) rethrows {
        self.label = label
        let changed = Set(parts.compactMap(\.identity))
        var seen: Set<TokenObject> = []
        for part in parts where seen.insert(part.object).inserted {
            let object = part.object
            let rows = try rows(object)
            let others = rows.filter { !changed.contains($0.identity) }
            let owners = rows.filter { changed.contains($0.identity) && $0.hasOwnLabel }
            guard !others.isEmpty else {
                relabelled.append(object)
                continue
            }
            own.formUnion(owners.map(\.identity))
            guard owners.count < rows.count - others.count else { continue }
            relabelled.append(object)
            staying += others.filter { !$0.hasOwnLabel }
                .map { Part(itemClass: part.itemClass, object: object, identity: $0.identity) }
        }
    }

    /// Where the label of a changed row is from now on.
    func label(of part: Part) -> RowLabel {
        part.identity.map(own.contains) == true ? .own(label) : .object(label)
    }
}
