import KeyfobPrimitives
import KeyfobOpenSSL

/// One message under AES-GCM with a key from an ephemeral key agreement: the inner half of Apple's ECIES.
///
/// X9.63 derives the AES key with the ephemeral public key as shared information. It has 128 bits for curves of up to
/// 256 bits, else 256 bits. The nonce has 16 bytes; it is zero in the older format and derived after the key in the
/// newer one. No additional data is authenticated.
struct EphemeralBox {
    private let cipher: AESGCM
    private let nonce: [UInt8]

    /// - Throws: `CryptoError`, `OpenSSLError`.
    init(secret: SecretBytes, ephemeral: PublicKey, digest: Digest, derivesNonce: Bool) throws {
        // The size follows from the length of a coordinate in whole bytes.
        let keyCount = (ephemeral.bits.count - 1) / 2 > 32 ? 32 : 16
        let material = try X963KDF.derive(
            secret: secret, sharedInfo: [UInt8](ephemeral.bits), count: derivesNonce ? keyCount + 16 : keyCount,
            digest: digest)
        cipher = try AESGCM(key: material.prefix(keyCount), nonceCount: 16)
        nonce = derivesNonce ? Array(material.copyBytes().suffix(16)) : [UInt8](repeating: 0, count: 16)
    }

    /// Encrypts a message, and appends the tag to the ciphertext.
    ///
    /// - Throws: `CryptoError`, `OpenSSLError`.
    func seal(_ plaintext: [UInt8]) throws -> [UInt8] {
        let sealed = try cipher.seal(plaintext, nonce: nonce, additionalData: [])
        return sealed.ciphertext + sealed.tag
    }

    /// Decrypts a message.
    ///
    /// - Throws: `StatusError` (`errSecParam`) if the input is shorter than a tag, `CryptoError` if the tag does not
    ///   match.
    func open(_ sealed: [UInt8]) throws -> SecretBytes {
        guard sealed.count >= AESGCM.tagCount else { throw StatusError.parameter("the ciphertext is too short") }
        return try cipher.open(
            ciphertext: Array(sealed.dropLast(AESGCM.tagCount)), tag: Array(sealed.suffix(AESGCM.tagCount)),
            nonce: nonce, additionalData: [])
    }
}
