public import Foundation
public import KeyfobPrimitives
public import KeyfobOpenSSL

/// Reads key files and reports errors as `KeychainError`.
public enum KeyFile {
    /// Reads a private key: PEM or DER; PKCS#8 plain or encrypted (RFC 5958), SEC 1, PKCS#1.
    ///
    /// - Parameter passphrase: Called at most once, and only for an encrypted key.
    /// - Throws: `KeychainError`; `filePassphraseIncorrect`, `pinRequired`, `fileDamaged`, `unsupportedFormat`.
    public static func load(
        _ data: Data, fileName: String, passphrase: @escaping () throws -> SecretBytes?
    ) throws -> PrivateKey {
        do { return try PrivateKey.load(data, passphrase: passphrase) } catch let error as KeyFileError {
            throw KeychainError.keyFile(error, fileName: fileName)
        }
    }
}
