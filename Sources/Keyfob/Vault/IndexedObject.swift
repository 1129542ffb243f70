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

    /// All that is kept of it, in a form that no two entries share.
    var bytes: [UInt8] {
        var parts = [[UInt8](key)]
        var bytes: [UInt8]
        switch content {
        case .clear(let clear):
            bytes = [0]
            parts.append(clear)
        case .sealed(let sealed):
            bytes = [1]
            parts += [sealed.initializationVector, sealed.ciphertext, sealed.tag]
        }
        for part in parts {
            bytes += UInt32(truncatingIfNeeded: part.count).bigEndianBytes
            bytes += part
        }
        return bytes
    }
}
