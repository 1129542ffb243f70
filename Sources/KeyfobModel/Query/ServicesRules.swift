package import Foundation

/// The rules of Apple's Keychain Services for items, as far as they differ from Keyfob's own.
///
/// A search with these rules also finds items of a token class that are only in the vault: rows of attributes without
/// an object. It skips rows that fail their integrity check. A change with these rules replaces tombstones and damaged
/// rows with the same primary key.
package struct ServicesRules: Sendable {
    /// The values of attributes that an item does not have.
    package var defaults: ItemAttributes
    /// The user whose items are found, `kSecAttrMultiUser`; empty for the user of the process, whose items have no such
    /// value.
    package var user = Data()
    /// Whether removed items leave a tombstone: their primary key, without the secret.
    package var leavesTombstones = false
    /// Whether both halves of an identity must match access group and synchronizability, not only its key.
    ///
    /// This keeps a change or removal from affecting a half that belongs to another group.
    package var isAboutBothHalves = false
    /// The only program whose items without an access group are found; `nil` for all programs.
    package var program: String?

    /// Called with each item before it is changed; an error cancels the whole change.
    package var check: (@Sendable (Item) throws -> Void)?

    /// Creates rules with these default values.
    package init(defaults: ItemAttributes) { self.defaults = defaults }
}
