public import Foundation
public import KeyfobOpenSSL

/// The conditions of a search: the untyped form of ``Query``, for translators such as the Security facade.
///
/// An item must fulfil all given conditions; a missing condition matches any item. There is one exception, as in
/// Apple's keychain: without a value for `synchronizable`, only items that are not synchronizable are found.
public struct Criteria: Sendable {
    /// The class of the items.
    public var itemClass: ItemClass
    /// Attributes that an item must have with exactly these values.
    public var attributes: ItemAttributes
    /// The reference of the only item to find.
    public var reference: PersistentReference?
    /// Whether synchronizable items are found too; if false, `attributes` decides, or only other items are found.
    public var includesSynchronizable = false
    /// The access groups to search; `nil` for all groups.
    public var accessGroups: [String]?
    /// Text that the certificate's common name must contain; certificates and identities only.
    public var subjectContains: String?
    /// Text with which the certificate's common name must begin; certificates and identities only.
    public var subjectStartsWith: String?
    /// Text with which the certificate's common name must end; certificates and identities only.
    public var subjectEndsWith: String?
    /// The exact common name of the certificate; certificates and identities only.
    public var subjectIs: String?
    /// Whether comparisons of the common name ignore case.
    public var ignoresCase = false
    /// Whether comparisons of the common name ignore diacritics.
    public var ignoresDiacritics = false
    /// Whether comparisons of the common name treat full-width and half-width characters as the ordinary ones.
    public var ignoresWidth = false
    /// Names of authorities, one of which must be above the certificate, in DER or Apple's normalized form; empty for
    /// any. Certificates and identities only.
    public var issuers: [Data] = []
    /// An RFC 822 address that the certificate must have, ignoring case; certificates and identities only.
    public var emailAddress: String?
    /// A date on which the certificate must be valid; certificates and identities only.
    public var validOn: Date?
    /// A DNS name that the certificate must match; certificates and identities only.
    public var hostName: String?
    /// A further condition on the certificate; certificates and identities only.
    ///
    /// Called on the caller's thread, for certificates that fulfil all other conditions.
    public var certificateTest: (@Sendable (Certificate) throws -> Bool)?
    /// A domain that the server's name must equal or be in; internet passwords only.
    public var serverDomain: String?
    /// The maximum number of items, after all other conditions.
    public var limit: Int?
    /// The order of the results.
    public var order: Order = .created
    /// The rules of Keychain Services that differ from Keyfob's own; `nil` for Keyfob's own.
    package var services: ServicesRules?

    /// Criteria for all items of a class with these attributes.
    public init(_ itemClass: ItemClass, _ attributes: ItemAttributes = ItemAttributes()) {
        self.itemClass = itemClass
        self.attributes = attributes
    }

    /// Criteria for the item with a reference.
    public init(_ reference: PersistentReference) {
        itemClass = reference.itemClass
        attributes = ItemAttributes()
        self.reference = reference
        includesSynchronizable = true
    }

    /// The order of results.
    public enum Order: Sendable, Hashable {
        /// Oldest first, in the order in which the items were added, independent of the clock.
        case created
        /// By label in byte order; items without a label last.
        case label
        /// The most recently changed first.
        case modified
        /// The first to expire first; certificates and identities only.
        case expires
    }
}

extension Criteria: CustomStringConvertible, CustomReflectable {
    /// The class and the names of the conditions; never a value.
    public var description: String {
        let rest = [
            reference.map(\.description), needsSubject ? "subject" : nil, issuers.isEmpty ? nil : "issuer",
            emailAddress.map { _ in "e-mail" }, serverDomain.map { _ in "domain" },
            validOn.map { _ in "date" }, hostName.map { _ in "host" }, accessGroups.map { _ in "groups" },
        ].compactMap { $0 }
        return "Criteria(\(([itemClass.rawValue] + attributes.names.map(\.rawValue) + rest).joined(separator: " ")))"
    }

    /// A mirror without children, because reflection must not print the values that `description` hides.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
