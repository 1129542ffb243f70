public import Foundation
public import OpenSSL

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
    /// Text with which the certificate's common name must begin; certificates and identities only.
    public var subjectStartsWith: String?
    /// Text with which the certificate's common name must end; certificates and identities only.
    public var subjectEndsWith: String?
    /// Text that the certificate's common name must be; certificates and identities only.
    public var subjectIs: String?
    /// Whether comparisons of the common name ignore case.
    public var ignoresCase = false
    /// Whether comparisons of the common name ignore marks on letters.
    public var ignoresDiacritics = false
    /// Whether comparisons of the common name take characters of full and half width for the ordinary ones.
    public var ignoresWidth = false
    /// Names of authorities, one of which is above the certificate: DER or Apple's normalised form, empty for any;
    /// certificates and identities only.
    public var issuers: [Data] = []
    /// An RFC 822 address that the certificate must have, case aside; certificates and identities only.
    public var emailAddress: String?
    /// A moment at which the certificate must be valid; certificates and identities only.
    public var validOn: Date?
    /// A DNS name for which the certificate must be good; certificates and identities only.
    public var hostName: String?
    /// What else is demanded of the certificate; certificates and identities only.
    ///
    /// Called on the caller's thread, for certificates that pass every other filter.
    public var certificateTest: (@Sendable (Certificate) throws -> Bool)?
    /// A domain in which the server must be: its name, or one that ends with it after a dot; internet passwords only.
    public var serverDomain: String?
    /// How many items at the most, counted after all filters.
    public var limit: Int?
    /// The order of the results.
    public var order: Order = .created
    /// The rules of Keychain Services where they go beyond Keyfob's own; `nil` for Keyfob's own.
    package var services: ServicesRules?

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
            reference.map(\.description), needsSubject ? "subject" : nil, issuers.isEmpty ? nil : "issuer",
            emailAddress.map { _ in "e-mail" }, serverDomain.map { _ in "domain" },
            validOn.map { _ in "date" }, hostName.map { _ in "host" }, accessGroups.map { _ in "groups" },
        ].compactMap { $0 }
        return "Criteria(\(([itemClass.rawValue] + attributes.names.map(\.rawValue) + rest).joined(separator: " ")))"
    }

    /// A mirror without children: reflection must not print what `description` hides.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
