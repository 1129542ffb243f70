package import Foundation

/// One object on the token, as the vault's index stores it.
package struct IndexedObject: Sendable {
    /// The key under which the entry is found.
    package let key: Data
    /// The object: in clear if it is public, because a token shows those without a login, and otherwise sealed.
    package var content: Content

    package init(key: Data, content: Content) {
        self.key = key
        self.content = content
    }

    package enum Content: Sendable {
        case clear([UInt8])
        case sealed(SealedBytes)
    }
}
