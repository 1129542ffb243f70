package import Foundation
package import KeyfobOpenSSL
package import KeyfobPrimitives
package import PKCS11

/// A way to wrap 32-byte keys, so that only a key on the token unwraps them.
///
/// Suites have their JOSE names (RFC 7518 section 4.1), so that a row can be printed as a JWE that any JOSE tool opens.
package protocol WrapSuite: Sendable {
    /// The name of the suite: `alg` of JOSE.
    var name: String { get }

    /// The class of the object that unwraps.
    var keyClass: ObjectClass { get }

    /// The mechanisms that a token lists if it can make a key for the suite and use it.
    var mechanisms: [MechanismType] { get }

    /// Returns whether a key on the token has the class and type that the suite takes.
    func fits(_ key: TokenObject) -> Bool

    /// Makes a wrapping key on the token that is sensitive and not extractable.
    ///
    /// - Parameters:
    ///   - label: The `CKA_LABEL` of all objects of the key.
    ///   - id: The `CKA_ID` of all objects of the key.
    ///   - session: A session of the token.
    /// - Returns: The handle of the key, and of its public half if it has one.
    /// - Throws: `PKCS11Error`.
    func generateKey(
        label: String, id: [UInt8], in session: borrowing Session
    ) throws -> (key: ObjectHandle, publicKey: ObjectHandle?)

    /// Wraps a key.
    ///
    /// - Throws: `PKCS11Error`; `CryptoError` if the public key does not fit the suite.
    func wrap(_ key: SecretBytes, with wrappingKey: WrappingKey, in session: borrowing Session) throws -> [UInt8]

    /// Unwraps a key with one operation of the token.
    ///
    /// - Throws: `PKCS11Error`; `KeychainError` with code `vaultDamaged` if the bytes were changed.
    func unwrap(_ bytes: [UInt8], with wrappingKey: WrappingKey, in session: borrowing Session) throws -> SecretBytes

    /// Seals a vault's metadata key, so that the result can neither be opened nor made without the token.
    ///
    /// - Throws: The errors of `unwrap(_:with:in:)`.
    func sealMetadataKey(
        _ key: SecretBytes, of vault: Data, with wrappingKey: WrappingKey, in session: borrowing Session
    ) throws -> [UInt8]

    /// Opens the result of `sealMetadataKey` with one operation of the token.
    ///
    /// - Throws: The errors of `unwrap(_:with:in:)`.
    func openMetadataKey(
        _ sealed: [UInt8], of vault: Data, with wrappingKey: WrappingKey, in session: borrowing Session
    ) throws -> SecretBytes

    /// Returns the members of a JWE recipient for a wrapped key: the header parameters beside `alg` and `kid`, and
    /// `encrypted_key`.
    func members(of bytes: [UInt8]) -> (header: [(name: String, value: JOSEHeaderValue)], encryptedKey: [UInt8])
}

extension WrapSuite {
    package func members(
        of bytes: [UInt8]
    ) -> (header: [(name: String, value: JOSEHeaderValue)], encryptedKey: [UInt8]) { ([], bytes) }
}

/// A key on the token that wraps.
package struct WrappingKey: Sendable {
    /// The object that unwraps, in the current login.
    package let handle: ObjectHandle
    /// The public half; `nil` for a secret key.
    package let publicKey: PublicKey?

    package init(handle: ObjectHandle, publicKey: PublicKey? = nil) {
        self.handle = handle
        self.publicKey = publicKey
    }
}

/// A suite that wraps and unwraps with a secret key, by one operation of the token each.
package protocol SecretKeyWrapSuite: WrapSuite {}

extension SecretKeyWrapSuite {
    package var keyClass: ObjectClass { .secretKey }

    package func fits(_ key: TokenObject) -> Bool { key.objectClass == .secretKey && key.keyType == .aes }

    package func sealMetadataKey(
        _ key: SecretBytes, of vault: Data, with wrappingKey: WrappingKey, in session: borrowing Session
    ) throws -> [UInt8] {
        try wrap(key, with: wrappingKey, in: session)
    }

    package func openMetadataKey(
        _ sealed: [UInt8], of vault: Data, with wrappingKey: WrappingKey, in session: borrowing Session
    ) throws -> SecretBytes {
        try unwrap(sealed, with: wrappingKey, in: session)
    }
}

/// A suite that wraps in software with a public key, and unwraps with the private key on the token.
///
/// Wrapping needs neither the token nor a login. Any program can do it, so a wrapped key does not show that its
/// keychain made it. Therefore the metadata key is not wrapped. It is encrypted under a key that is derived from a
/// number that only the private key computes, and which is the same each time.
package protocol PublicKeyWrapSuite: WrapSuite {
    /// Wraps a key with a public key.
    ///
    /// - Throws: `CryptoError` if the public key does not fit the suite.
    func wrap(_ key: SecretBytes, for publicKey: PublicKey) throws -> [UInt8]

    /// Returns the number that the private key computes from a public message, with one operation of the token.
    ///
    /// - Throws: `PKCS11Error`; `KeychainError` with code `vaultDamaged` if the public half does not belong to the key,
    ///   `mechanismUnsupported` if the token does not reveal the number.
    func privateNumber(
        for message: [UInt8], with wrappingKey: WrappingKey, in session: borrowing Session
    ) throws -> SecretBytes
}

extension PublicKeyWrapSuite {
    package var keyClass: ObjectClass { .privateKey }

    package func wrap(
        _ key: SecretBytes, with wrappingKey: WrappingKey, in session: borrowing Session
    ) throws -> [UInt8] {
        try wrap(key, for: wrappingKey.known)
    }

    package func sealMetadataKey(
        _ key: SecretBytes, of vault: Data, with wrappingKey: WrappingKey, in session: borrowing Session
    ) throws -> [UInt8] {
        try AESKeyWrap.wrap(key, key: keyEncryptionKey(of: vault, with: wrappingKey, in: session))
    }

    package func openMetadataKey(
        _ sealed: [UInt8], of vault: Data, with wrappingKey: WrappingKey, in session: borrowing Session
    ) throws -> SecretBytes {
        do {
            return try AESKeyWrap.unwrap(sealed, key: keyEncryptionKey(of: vault, with: wrappingKey, in: session))
        } catch let error where error.isAboutContent {
            throw KeychainError.damagedItem(cause: error)
        }
    }

    private func keyEncryptionKey(
        of vault: Data, with wrappingKey: WrappingKey, in session: borrowing Session
    ) throws -> SecretBytes {
        let message = Array("keyfob 1 metadata key".utf8) + vault
        let number = try privateNumber(for: message, with: wrappingKey, in: session)
        return try HKDF.derive(key: number, salt: [UInt8](vault), info: Array(name.utf8), count: 32)
    }
}

extension Error {
    /// Whether libcrypto refuses a key or bytes. They come from the vault, which then is damaged.
    var isAboutContent: Bool { self is CryptoError || self is KeyFileError || self is OpenSSLError }
}

extension WrappingKey {
    /// The public half of a key pair.
    ///
    /// - Throws: `KeychainError` with code `vaultDamaged` if the vault does not have it.
    package var known: PublicKey {
        get throws {
            guard let publicKey else { throw KeychainError.damagedItem(cause: nil) }
            return publicKey
        }
    }
}
