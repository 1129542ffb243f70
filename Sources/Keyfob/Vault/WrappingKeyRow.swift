import Foundation

/// A key on the token that wraps row keys and the metadata key.
struct WrappingKeyRow: Sendable, Hashable {
    /// The row; recipients name it.
    var id: Int64 = 0
    /// The name other software shows for it: `kid` of a JWE, `CKA_LABEL` of the object.
    var keyID: String
    /// The wrap suite, by its JOSE name.
    var suite: String
    /// `CKA_ID` of the object.
    var objectID: Data
    /// The metadata key, wrapped.
    var encryptedMetadataKey: [UInt8]
    /// Milliseconds since 1970.
    var created: Int64
    /// Whether new row keys are wrapped under it.
    var isActive: Bool
}
