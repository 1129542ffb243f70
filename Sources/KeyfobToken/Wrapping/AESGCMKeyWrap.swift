package import KeyfobPrimitives
import KeyfobOpenSSL
package import PKCS11

/// `A256GCMKW` (RFC 7518 section 4.7): the token encrypts the key with `CKM_AES_GCM`.
///
/// The wrapped form is the 12-byte nonce, 32 bytes of ciphertext and the 16-byte tag.
package struct AESGCMKeyWrap: WrapSuite {
    package var name: String { "A256GCMKW" }

    package func generateKey(
        label: String, id: [UInt8], isPermanent: Bool, in session: borrowing Session
    ) throws -> ObjectHandle {
        try session.generateKey(
            Mechanism(.aesKeyGeneration),
            template: .wrappingKey(label: label, id: id, isPermanent: isPermanent, wrapsObjects: false))
    }

    package func wrap(
        _ key: SecretBytes, with wrappingKey: ObjectHandle, in session: borrowing Session
    ) throws -> [UInt8] {
        let nonce = try RandomBytes.bytes(count: AESGCM.nonceCount)
        let sealed = try session.encryptSecret(
            key, with: wrappingKey, using: .aesGCM(iv: nonce, additionalData: []))
        return nonce + sealed
    }

    package func unwrap(
        _ bytes: [UInt8], with wrappingKey: ObjectHandle, in session: borrowing Session
    ) throws -> SecretBytes {
        guard bytes.count == 60 else { throw KeychainError.damagedItem(cause: nil) }
        return try session.decryptSecret(
            Array(bytes[12...]), with: wrappingKey, using: .aesGCM(iv: Array(bytes[..<12]), additionalData: []))
    }

    package func members(of bytes: [UInt8]) -> (header: [(name: String, value: String)], encryptedKey: [UInt8]) {
        guard bytes.count == 60 else { return ([], bytes) }
        return (
            [("iv", Base64URL.encode(bytes[..<12])), ("tag", Base64URL.encode(bytes[44...]))], Array(bytes[12..<44])
        )
    }
}
