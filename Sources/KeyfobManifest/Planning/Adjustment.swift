import Keyfob

/// A change of a stored key, identity or certificate whose key stays.
package struct Adjustment: Sendable {
    let item: Item
    /// The new name.
    var name: String?
    /// Whether the item is protected from now on.
    var isProtected: Bool?
    /// How the identity is renewed from now on.
    var policy: RenewalPolicy?

    /// Whether nothing changes.
    var isEmpty: Bool { name == nil && isProtected == nil && policy == nil }

    /// The differences to show, besides those of the policy.
    private(set) var differences: [Change.Difference] = []

    /// Compares the name and the protection of an item with an entry.
    init(_ item: Item, name: String, isProtected: Bool) {
        self.item = item
        let former = item.attributes[.label]?.text ?? ""
        if !former.isIdentical(to: name) {
            self.name = name
            differences.append(.init("name", from: former, to: name))
        }
        if item.attributes.isProtected != isProtected {
            self.isProtected = isProtected
            differences.append(.init("protect", from: String(!isProtected), to: String(isProtected)))
        }
    }
}
