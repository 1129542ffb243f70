/// The ciphertext of AES-256-GCM with its initialisation vector and tag: three members of a JWE.
struct SealedBytes: Hashable, Sendable {
    var initializationVector: [UInt8]
    var ciphertext: [UInt8]
    var tag: [UInt8]
}
