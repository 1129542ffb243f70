import Foundation

/// One object on the token as the vault's index remembers it.
struct IndexedObject: Sendable {
    /// What the entry is found by.
    let key: Data
    /// Public objects are kept in clear (a token shows them without a login); others are sealed.
    var content: Content

    enum Content: Sendable {
        case clear([UInt8])
        case sealed(SealedBytes)
    }
}
