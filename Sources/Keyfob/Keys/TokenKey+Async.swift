public import KeyfobPrimitives
public import KeyfobOpenSSL
import PKCS11

extension TokenKey {
    /// The schemes that the token has just proved to support.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func proven(_ schemes: [SignatureScheme]) async throws -> [SignatureScheme] {
        try await keychain.run { try self.proven(schemes) }
    }

    /// Signs a digest that the caller computed.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func signDigest(_ digest: [UInt8], using scheme: SignatureScheme) async throws -> [UInt8] {
        try await keychain.run { try self.signDigest(digest, using: scheme) }
    }

    /// Decrypts with an RSA key.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func decrypt(_ ciphertext: [UInt8], using scheme: EncryptionScheme) async throws -> SecretBytes {
        try await keychain.run { try self.decrypt(ciphertext, using: scheme) }
    }
}
