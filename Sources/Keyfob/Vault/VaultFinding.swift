import Foundation
import KeyfobPrimitives

/// Something that is wrong with a vault, found by ``Keychain/vaultFindings()``.
///
/// It tells the value of no item, and no name but that of a key or certificate which the token has lost, and of a
/// password that ``Keychain/secretFindings()`` could not open.
public struct VaultFinding: Hashable, Sendable, CustomStringConvertible {
    /// What kind of finding it is.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// An item fails its integrity check: nobody can read it any more.
        public static let itemDamaged = Self(rawValue: "item.damaged")
        /// The secret of an item does not open, though the item is whole otherwise.
        public static let secretDamaged = Self(rawValue: "secret.damaged")
        /// An item is whole, and not what was written last.
        public static let itemReplayed = Self(rawValue: "item.replayed")
        /// An item is whole, and Keyfob has not written it, or has removed it since.
        public static let itemAdded = Self(rawValue: "item.added")
        /// Items are gone that Keyfob has not removed.
        public static let itemsRemoved = Self(rawValue: "items.removed")
        /// The record of the rows is damaged: which items are missing or old cannot be told.
        public static let recordDamaged = Self(rawValue: "record.damaged")
        /// Part of an item is there without the item.
        public static let itemIncomplete = Self(rawValue: "item.incomplete")
        /// An interrupted change has left an object on the token that no list shows.
        public static let objectUnlisted = Self(rawValue: "object.unlisted")
        /// The vault's file is damaged.
        public static let fileDamaged = Self(rawValue: "file.damaged")
        /// The token has lost a key without which passwords do not open.
        public static let wrappingKeyAbsent = Self(rawValue: "wrapping_key.absent")
        /// A wrapping key does not open what it sealed: it was damaged, or somebody else has put it into the vault.
        public static let wrappingKeyDamaged = Self(rawValue: "wrapping_key.damaged")
        /// No wrapping key is marked as the one that seals: no password can be stored.
        public static let wrappingKeyInactive = Self(rawValue: "wrapping_key.inactive")
        /// A key or a certificate is not on the token any more.
        public static let objectAbsent = Self(rawValue: "object.absent")
        /// Something on the token cannot be read: it was damaged, or a process was killed while it made it.
        public static let objectUnreadable = Self(rawValue: "object.unreadable")

        /// Whether ``Keychain/acceptVault()`` does away with it.
        public var canBeAccepted: Bool {
            [.itemReplayed, .itemAdded, .itemsRemoved, .recordDamaged, .itemIncomplete, .objectAbsent].contains(self)
        }

        /// Whether ``Keychain/removeDamagedItems()`` does away with it.
        public var canBeRemoved: Bool { self == .itemDamaged }
    }

    /// What kind of finding it is.
    public let code: Code
    /// The identity of the item that it is about, in hexadecimal digits.
    public let item: String?
    /// The class of that item, as far as its row tells.
    public let itemClass: ItemClass?
    /// The finding in words.
    public let description: String

    init(_ code: Code, _ description: String, item: String? = nil, itemClass: ItemClass? = nil) {
        self.code = code
        self.item = item
        self.itemClass = itemClass
        self.description = description
    }

    /// The finding about one row.
    init(_ code: Code, _ row: SealedRow, itemClass: ItemClass? = nil, _ what: String) {
        let identity = row.identity.hexadecimal
        self.init(code, "item \(identity) \(what)", item: identity, itemClass: itemClass)
    }
}
