package import KeyfobPrimitives
import KeyfobOpenSSL
package import PKCS11

/// `A256GCMKW` (RFC 7518 section 4.7): the token encrypts the key with `CKM_AES_GCM`.
///
/// The wrapped form is the 12-byte nonce, 32 bytes of ciphertext and the 16-byte tag.
package struct AESGCMKeyWrap: SecretKeyWrapSuite {
    package var name: String { "A256GCMKW" }

    package var mechanisms: [MechanismType] { [.aesKeyGeneration, .aesGCM] }

    package func generateKey(
        label: String, id: [UInt8], in session: borrowing Session
    ) throws -> (key: ObjectHandle, publicKey: ObjectHandle?) {
        let template = AttributeTemplate.wrappingKey(label: label, id: id, wrapsObjects: false)
        return (try session.generateKey(Mechanism(.aesKeyGeneration), template: template), nil)
    }

    package func wrap(
        _ key: SecretBytes, with wrappingKey: WrappingKey, in session: borrowing Session
    ) throws -> [UInt8] {
        let nonce = try RandomBytes.bytes(count: AESGCM.nonceCount)
        let sealed = try session.encryptSecret(
            key, with: wrappingKey.handle, using: .aesGCM(iv: nonce, additionalData: []))
        return nonce + sealed
    }

    package func unwrap(
        _ bytes: [UInt8], with wrappingKey: WrappingKey, in session: borrowing Session
    ) throws -> SecretBytes {
        guard bytes.count == 60 else { throw KeychainError.damagedItem(cause: nil) }
        return try session.decryptSecret(
            Array(bytes[12...]), with: wrappingKey.handle, using: .aesGCM(iv: Array(bytes[..<12]), additionalData: []))
    }

    package func members(
        of bytes: [UInt8]
    ) -> (header: [(name: String, value: JOSEHeaderValue)], encryptedKey: [UInt8]) {
        guard bytes.count == 60 else { return ([], bytes) }
        let nonce = Base64URL.encode(bytes[..<12])
        let tag = Base64URL.encode(bytes[44...])
        return ([("iv", .string(nonce)), ("tag", .string(tag))], Array(bytes[12..<44]))
    }
}
