package import Foundation

/// The rules of Apple's Keychain Services about items, as far as they differ from Keyfob's own.
///
/// A search with these rules also finds items that lie in the vault alone although their class lives on the token:
/// rows of attributes without an object. It passes over rows that fail their integrity check, as if they were not
/// there. A change with these rules lets tombstones and damaged rows make room for what takes their primary key.
package struct ServicesRules: Sendable {
    /// What an item counts as having where it has no value of its own.
    package var defaults: ItemAttributes
    /// Whose items are meant, `kSecAttrMultiUser`: those of the process's own user have none, or an empty one.
    package var user = Data()
    /// Whether removed items leave a tombstone: their primary key, without the secret.
    package var leavesTombstones = false
    /// Whether both halves of an identity must be in the access group that is named, and synchronizable or not, as its
    /// key is: of what is changed or removed no half may be another's.
    package var isAboutBothHalves = false
    /// The program whose items alone are meant among those without an access group; `nil` for all of them.
    package var program: String?

    /// Called with each item that is about to be changed, as it is before; what it throws ends the change, and nothing
    /// is changed then.
    package var check: (@Sendable (Item) throws -> Void)?

    /// Rules with these defaults.
    package init(defaults: ItemAttributes) { self.defaults = defaults }
}
