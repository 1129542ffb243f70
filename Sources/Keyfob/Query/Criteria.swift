public import Foundation

/// What a search asks for: the untyped form behind ``Query``, for translators such as the Security facade.
///
/// Everything given must hold at once. What is not given is a wildcard, with one exception that
/// Apple's keychain makes: without a value for `synchronizable`, only items are found that are not.
public struct Criteria: Sendable {
    /// The class of the items.
    public var itemClass: ItemClass
    /// Attributes that an item must have with just these values.
    public var attributes: ItemAttributes
    /// The one item that is asked for.
    public var reference: PersistentReference?
    /// Whether synchronizable items are found: `nil` asks `attributes`, or finds those that are not.
    public var includesSynchronizable = false
    /// Access groups of which an item must be in one; `nil` finds all groups.
    public var accessGroups: [String]?
    /// Text that the certificate's common name must contain; certificates and identities only.
    public var subjectContains: String?
    /// Whether `subjectContains` ignores case.
    public var ignoresCase = false
    /// Name of an authority above the certificate, DER or Apple's normalised form; certificates and identities only.
    public var issuer: Data?
    /// A moment at which the certificate must be valid; certificates and identities only.
    public var validOn: Date?
    /// A DNS name for which the certificate must be good; certificates and identities only.
    public var hostName: String?
    /// How many items at the most, counted after all filters.
    public var limit: Int?
    /// The order of the results.
    public var order: Order = .created

    /// Everything of a class.
    public init(_ itemClass: ItemClass, _ attributes: ItemAttributes = ItemAttributes()) {
        self.itemClass = itemClass
        self.attributes = attributes
    }

    /// The item that `reference` names.
    public init(_ reference: PersistentReference) {
        itemClass = reference.itemClass
        attributes = ItemAttributes()
        self.reference = reference
        includesSynchronizable = true
    }

    /// The order of results.
    public enum Order: Sendable, Hashable {
        /// Oldest first: the order in which items were added, never by clock.
        case created
        /// By label, byte order; without a label last.
        case label
        /// Changed last, first.
        case modified
        /// Expiring first; certificates and identities only.
        case expires
    }
}

extension Criteria: CustomStringConvertible, CustomReflectable {
    /// The class and the names of what is asked for; never a value.
    public var description: String {
        let rest = [
            reference.map(\.description), subjectContains.map { _ in "subject" }, issuer.map { _ in "issuer" },
            validOn.map { _ in "date" }, hostName.map { _ in "host" }, accessGroups.map { _ in "groups" },
        ].compactMap { $0 }
        return "Criteria(\(([itemClass.rawValue] + attributes.names.map(\.rawValue) + rest).joined(separator: " ")))"
    }

    /// A mirror without children: reflection must not print what `description` hides.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
