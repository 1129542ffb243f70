import Foundation
import KeyfobPrimitives

/// A problem of a vault, found by ``KeychainIntegrity/findings()``.
///
/// A finding never contains the value of an item. It contains a name only for a key or certificate that the token has
/// lost, and for a password that ``KeychainIntegrity/secretFindings()`` could not open.
public struct VaultFinding: Hashable, Sendable, CustomStringConvertible {
    /// The kind of a finding.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// An item fails its integrity check and cannot be read.
        public static let itemDamaged = Self(rawValue: "item.damaged")
        /// The secret of an item does not open, although the rest of the item is intact.
        public static let secretDamaged = Self(rawValue: "secret.damaged")
        /// An item is intact, but is not the version that was written last.
        public static let itemReplayed = Self(rawValue: "item.replayed")
        /// An item is intact, but Keyfob did not write it or has removed it.
        public static let itemAdded = Self(rawValue: "item.added")
        /// Items are missing that Keyfob did not remove.
        public static let itemsRemoved = Self(rawValue: "items.removed")
        /// The record of the rows is damaged, so missing and old items cannot be detected.
        public static let recordDamaged = Self(rawValue: "record.damaged")
        /// Part of an item exists without the item.
        public static let itemIncomplete = Self(rawValue: "item.incomplete")
        /// An interrupted change has left an object on the token that lists do not show.
        public static let objectUnlisted = Self(rawValue: "object.unlisted")
        /// The vault's file is damaged.
        public static let fileDamaged = Self(rawValue: "file.damaged")
        /// The token has lost a key that is needed to open passwords.
        public static let wrappingKeyAbsent = Self(rawValue: "wrapping_key.absent")
        /// A wrapping key does not open what it sealed: it was damaged, or another program put it into the vault.
        public static let wrappingKeyDamaged = Self(rawValue: "wrapping_key.damaged")
        /// No wrapping key is marked as active, so no password can be stored.
        public static let wrappingKeyInactive = Self(rawValue: "wrapping_key.inactive")
        /// A key or a certificate is no longer on the token.
        public static let objectAbsent = Self(rawValue: "object.absent")
        /// An object on the token cannot be read: it was damaged, or a process was killed while making it.
        public static let objectUnreadable = Self(rawValue: "object.unreadable")

        /// Whether ``KeychainIntegrity/acceptVault()`` resolves a finding of this kind.
        public var canBeAccepted: Bool {
            [.itemReplayed, .itemAdded, .itemsRemoved, .recordDamaged, .itemIncomplete, .objectAbsent].contains(self)
        }

        /// Whether ``KeychainIntegrity/removeDamagedItems()`` resolves a finding of this kind.
        public var canBeRemoved: Bool { self == .itemDamaged }
    }

    /// The kind of the finding.
    public let code: Code
    /// The identity of the item concerned, in hexadecimal digits.
    public let item: String?
    /// The class of that item, if its row shows it.
    public let itemClass: ItemClass?
    /// The finding in words.
    public let description: String

    package init(_ code: Code, _ description: String, item: String? = nil, itemClass: ItemClass? = nil) {
        self.code = code
        self.item = item
        self.itemClass = itemClass
        self.description = description
    }

    /// Makes a finding about one row.
    package init(_ code: Code, _ row: SealedRow, itemClass: ItemClass? = nil, _ what: String) {
        let identity = row.identity.hexadecimal
        self.init(code, "item \(identity) \(what)", item: identity, itemClass: itemClass)
    }
}
