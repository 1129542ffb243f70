package import KeyfobPrimitives
import KeyfobOpenSSL

/// A password of the application, which seals the data of an item before the vault seals it again
/// (`kSecAccessControlApplicationPassword`).
///
/// scrypt (RFC 7914) derives a key from the password, and AES-256-GCM seals the data. A seal consists of 16 bytes that
/// distinguish it from other data, 16 bytes of salt, 12 of nonce, the ciphertext, and 16 of tag.
package struct ApplicationPassword {
    private let password: SecretBytes

    /// Takes the password.
    ///
    /// - Throws: `KeychainError` with code `invalidArgument` for an empty password.
    package init(_ password: SecretBytes) throws(KeychainError) {
        guard !password.isEmpty else {
            throw KeychainError(.invalidArgument, "a password of the application's own may not be empty.")
        }
        self.password = password
    }

    private static let mark: [UInt8] = [
        0x00, 0x6B, 0x66, 0x2D, 0x61, 0x70, 0x70, 0x01, 0xF3, 0x9C, 0x2E, 0x81, 0xD5, 0x47, 0xBA, 0x60,
    ]
    private static let saltCount = 16

    /// Returns whether `data` is a seal.
    package static func isSeal(_ data: SecretBytes) -> Bool {
        data.count >= mark.count + saltCount + AESGCM.nonceCount + AESGCM.tagCount
            && data.prefix(mark.count).copyBytes() == mark
    }

    /// Seals a secret.
    ///
    /// The call blocks for about 0.1 s and takes 32 MiB, which makes guessing costly.
    ///
    /// - Throws: `CryptoError` or `OpenSSLError` if libcrypto fails.
    package func seal(_ secret: SecretBytes) throws -> SecretBytes {
        let salt = try RandomBytes.bytes(count: Self.saltCount)
        let nonce = try RandomBytes.bytes(count: AESGCM.nonceCount)
        let sealed = try AESGCM.seal(secret, key: key(salt), nonce: nonce, additionalData: Self.mark)
        return SecretBytes(Self.mark + salt + nonce + sealed.ciphertext + sealed.tag)
    }

    /// Opens a seal.
    ///
    /// The call blocks for about 0.1 s and takes 32 MiB.
    ///
    /// - Throws: `KeychainError` with code `passphraseIncorrect` if the secret was sealed with another password;
    ///   `CryptoError` or `OpenSSLError` if libcrypto fails.
    package func open(_ seal: SecretBytes) throws -> SecretBytes {
        var rest = seal.copyBytes()[...].dropFirst(Self.mark.count)
        let salt = Array(rest.prefix(Self.saltCount))
        rest = rest.dropFirst(Self.saltCount)
        let nonce = Array(rest.prefix(AESGCM.nonceCount))
        rest = rest.dropFirst(AESGCM.nonceCount)
        do {
            return try AESGCM.open(
                ciphertext: Array(rest.dropLast(AESGCM.tagCount)), tag: Array(rest.suffix(AESGCM.tagCount)),
                nonce: nonce,
                additionalData: Self.mark, key: key(salt))
        } catch let error as CryptoError where error.code == .authenticationFailed {
            throw KeychainError(.passphraseIncorrect, "this is not the password of the item.")
        }
    }

    private func key(_ salt: [UInt8]) throws -> SecretBytes {
        try PassphraseSeal.Cost.present.key(of: password, salt: salt)
    }
}
