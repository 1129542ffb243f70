public import Foundation
public import KeyfobPrimitives
public import KeyfobOpenSSL

extension KeyFile {
    /// Reads a PKCS#12 file (RFC 7292) without storing anything.
    ///
    /// Blocks while the passphrase is derived.
    ///
    /// - Parameters:
    ///   - fileName: The name of the file in messages.
    ///   - allowsUnreadableKeys: Whether the file may contain only keys of unsupported types, which are skipped;
    ///     otherwise such a file is an error.
    /// - Throws: `KeychainError`; `pkcs12Damaged`, `filePassphraseIncorrect`, `pkcs12Tampered`, `legacyEncryption`,
    ///   `unsupportedFormat`, `dataTooLarge`.
    public static func pkcs12(
        _ data: Data, fileName: String, passphrase: SecretBytes?, allowsLegacy: Bool,
        allowsUnreadableKeys: Bool = false
    ) throws -> PKCS12.Contents {
        do {
            return try PKCS12.read(
                data, passphrase: passphrase, allowLegacy: allowsLegacy, allowUnreadableKeys: allowsUnreadableKeys)
        } catch { throw KeychainError.pkcs12(error, fileName: fileName) }
    }

    /// Reads a certification request, in PEM or DER.
    ///
    /// - Parameter fileName: The name of the file in messages.
    /// - Throws: `KeychainError`; `fileDamaged`, `unsupportedFormat` if the file has no request.
    public static func request(_ data: Data, fileName: String) throws -> CertificationRequest {
        do { return try CertificationRequest.load(data) } catch let error as KeyFileError {
            throw KeychainError.keyFile(error, fileName: fileName)
        }
    }

    /// Reads the certificates of a file, in PEM (one or many) or DER (one).
    ///
    /// - Parameter fileName: The name of the file in messages.
    /// - Throws: `KeychainError`; `fileDamaged`, `unsupportedFormat` if the file has no certificate.
    public static func certificates(_ data: Data, fileName: String) throws -> [Certificate] {
        do { return try Certificate.load(data) } catch let error as KeyFileError {
            throw KeychainError.keyFile(error, fileName: fileName)
        }
    }
}
