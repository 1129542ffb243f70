import Foundation

/// One object on the token, as the vault's index stores it.
struct IndexedObject: Sendable {
    /// The key under which the entry is found.
    let key: Data
    /// The object: in clear if it is public, because a token shows those without a login, and otherwise sealed.
    var content: Content

    enum Content: Sendable {
        case clear([UInt8])
        case sealed(SealedBytes)
    }
}
