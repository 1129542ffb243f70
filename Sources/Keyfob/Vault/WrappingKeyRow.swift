import Foundation

/// A key on the token that wraps row keys and the metadata key.
struct WrappingKeyRow: Sendable, Hashable {
    /// The row's number, to which recipients refer.
    var id: Int64 = 0
    /// The name that other software shows: `kid` of a JWE, `CKA_LABEL` of the object.
    var keyID: String
    /// The wrap suite, by its JOSE name.
    var suite: String
    /// The `CKA_ID` of the object.
    var objectID: Data
    /// The wrapped metadata key.
    var encryptedMetadataKey: [UInt8]
    /// The time of creation in milliseconds since 1970.
    var created: Int64
    /// Whether new row keys are wrapped with this key.
    var isActive: Bool
}
