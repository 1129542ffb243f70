/// The ciphertext of AES-256-GCM with its initialisation vector and tag: three members of a JWE.
package struct SealedBytes: Hashable, Sendable {
    package var initializationVector: [UInt8]
    package var ciphertext: [UInt8]
    package var tag: [UInt8]

    package init(initializationVector: [UInt8], ciphertext: [UInt8], tag: [UInt8]) {
        self.initializationVector = initializationVector
        self.ciphertext = ciphertext
        self.tag = tag
    }
}
