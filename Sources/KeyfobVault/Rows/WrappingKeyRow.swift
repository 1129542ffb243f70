package import Foundation

/// A key on the token that wraps row keys and the metadata key.
package struct WrappingKeyRow: Sendable, Hashable {
    /// The row's number, to which recipients refer.
    package var id: Int64 = 0
    /// The name that other software shows: `kid` of a JWE, `CKA_LABEL` of the object.
    package var keyID: String
    /// The wrap suite, by its JOSE name.
    package var suite: String
    /// The `CKA_ID` of the object.
    package var objectID: Data
    /// The sealed metadata key.
    package var encryptedMetadataKey: [UInt8]
    /// The SubjectPublicKeyInfo of the public half, with which row keys are wrapped; `nil` for a secret key.
    package var publicKey: Data?
    /// The code by which the metadata key authenticates the public half (`VaultKeys.code(of:)`).
    package var publicKeyCode: Data?
    /// The time of creation in milliseconds since 1970.
    package var created: Int64
    /// Whether new row keys are wrapped with this key.
    package var isActive: Bool

    package init(
        id: Int64 = 0, keyID: String, suite: String, objectID: Data, encryptedMetadataKey: [UInt8],
        publicKey: Data? = nil, publicKeyCode: Data? = nil, created: Int64, isActive: Bool
    ) {
        self.id = id
        self.keyID = keyID
        self.suite = suite
        self.objectID = objectID
        self.encryptedMetadataKey = encryptedMetadataKey
        self.publicKey = publicKey
        self.publicKeyCode = publicKeyCode
        self.created = created
        self.isActive = isActive
    }
}
