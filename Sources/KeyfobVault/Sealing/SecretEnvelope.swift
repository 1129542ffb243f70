import Foundation
package import KeyfobPrimitives
import KeyfobOpenSSL

/// A secret encrypted with AES-256-GCM under its own key, with a fresh key and nonce for every version of a row.
///
/// The row key leaves this file only to be wrapped, and is then wiped. The code of each recipient authenticates the
/// wrapped key.
package struct SecretEnvelope: Sendable {
    /// The ciphertext.
    package let sealed: SealedBytes
    /// The key of the ciphertext, which is wrapped for every recipient.
    package let rowKey: SecretBytes

    /// Encrypts a secret.
    ///
    /// - Throws: `KeychainError` with code `dataTooLarge` for more than 32 MiB.
    package init(sealing secret: SecretBytes, _ additionalData: AdditionalData) throws {
        guard secret.count <= SecretPadding.maximumCount else {
            throw KeychainError(
                .dataTooLarge,
                "the secret has \(secret.count) bytes; a keychain takes up to \(SecretPadding.maximumCount).",
                hint: "Keep large files encrypted elsewhere and store their key here.")
        }
        rowKey = try RandomBytes.secret(count: 32)
        let nonce = try RandomBytes.bytes(count: AESGCM.nonceCount)
        let (ciphertext, tag) = try AESGCM(key: rowKey).seal(
            SecretPadding.pad(secret), nonce: nonce, additionalData: additionalData.jose)
        sealed = SealedBytes(initializationVector: nonce, ciphertext: ciphertext, tag: tag)
    }

    /// Decrypts a secret with its unwrapped key.
    ///
    /// - Throws: `KeychainError` with code `vaultDamaged` if ciphertext, key and additional data do not belong
    ///   together.
    package static func open(
        _ sealed: SealedBytes, rowKey: SecretBytes, _ additionalData: AdditionalData
    ) throws -> SecretBytes {
        do {
            let padded = try AESGCM(key: rowKey).open(
                ciphertext: sealed.ciphertext, tag: sealed.tag, nonce: sealed.initializationVector,
                additionalData: additionalData.jose)
            guard let secret = SecretPadding.unpad(padded) else { throw KeychainError.damagedItem(cause: nil) }
            return secret
        } catch let error as KeychainError {
            throw error
        } catch {
            throw KeychainError.damagedItem(cause: error)
        }
    }
}
