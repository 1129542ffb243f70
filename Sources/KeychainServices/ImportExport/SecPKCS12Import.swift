public import Foundation
import Keyfob
import KeyfobPrimitives
import OpenSSL

/// Imports a PKCS#12 file; SecImportExport.h.
///
/// By default nothing is stored. If `kSecUseDataProtectionKeychain` is true and `kSecImportToMemoryOnly` is not, the
/// identities and the certificates above them are added to the keychain. Storing a root does not make it trusted. Other
/// options become attributes, existing items stay unchanged, and the stored keys cannot leave the token. Blocks while a
/// key is derived from the passphrase, from milliseconds to seconds, as the file requires.
///
/// - Parameters:
///   - pkcs12_data: The file.
///   - options: `kSecImportExportPassphrase`; the default is an empty passphrase.
///   - items: Receives an array with a dictionary for each identity: `kSecImportItemIdentity`, `kSecImportItemTrust`,
///     `kSecImportItemCertChain`, `kSecImportItemKeyID`, and `kSecImportItemLabel` if the file has a name. The array is
///     empty for a file without an identity.
/// - Returns: `errSecSuccess`; `errSecAuthFailed` for a missing or wrong passphrase, `errSecPkcs12VerifyFailure` for a
///   file that was modified, `errSecDecode` for one that is damaged or of another format, `errSecParam` for an option
///   of the wrong type, and the errors of storing the items.
@discardableResult
public func SecPKCS12Import(
    _ pkcs12_data: CFData, _ options: CFDictionary, _ items: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    do {
        // As with Apple, a missing passphrase counts as empty, which is wrong for nearly every file.
        let passphrase = try Passphrase.value(options.object(forKey: kSecImportExportPassphrase)) ?? SecretBytes([])
        let contents = try PKCS12File.contents(pkcs12_data as Data, passphrase)
        let isStored = try KeyParameters.truth(options, kSecUseDataProtectionKeychain) ?? false
        let staysInMemory = try KeyParameters.truth(options, kSecImportToMemoryOnly) ?? false
        let entries = try contents.identities.map { entry in
            let identity = SecIdentity(
                certificate: SecCertificate(entry.certificate), privateKey: SecKey(.memory(entry.key)))
            guard isStored, !staysInMemory else { return (entry, identity) }
            return (entry, try PKCS12File.store(identity, entry.chain.certificates, options))
        }
        unsafe items.pointee = entries.map { entry, identity in
            let chain = entry.chain.certificates.map { SecCertificate($0) }
            let trust = SecTrust(SecTrust.Question(
                certificates: chain, policies: [SecPolicyCreateBasicX509()]))
            var members: [CFString: Any] = [
                kSecImportItemIdentity: identity, kSecImportItemTrust: trust, kSecImportItemCertChain: chain,
                kSecImportItemKeyID: entry.certificate.publicKey.identifier,
            ]
            if let name = entry.friendlyName { members[kSecImportItemLabel] = name }
            return members as CFDictionary
        } as CFArray
        return errSecSuccess
    } catch {
        return OSStatus(error)
    }
}

/// Reads PKCS#12 files and stores their contents, with the codes of Keychain Services.
enum PKCS12File {
    /// Returns the contents of a file.
    ///
    /// - Throws: `StatusError`; `errSecAuthFailed`, `errSecPkcs12VerifyFailure`, `errSecDataTooLarge`, `errSecDecode`.
    static func contents(_ data: Data, _ passphrase: SecretBytes) throws(StatusError) -> PKCS12.Contents {
        do { return try PKCS12.read(data, passphrase: passphrase) } catch {
            let status: OSStatus =
                switch error.code {
                case .wrongPassphrase: errSecAuthFailed
                case .integrityCheckFailed: errSecPkcs12VerifyFailure
                case .tooLarge: errSecDataTooLarge
                default: errSecDecode
                }
            throw StatusError(status, error.description)
        }
    }

    /// Adds an identity and the certificates above it, and returns the identity from the keychain.
    ///
    /// - Throws: `StatusError`, except for items that exist already.
    static func store(_ identity: SecIdentity, _ chain: [Certificate], _ options: NSDictionary) throws -> SecIdentity {
        let own = [kSecImportExportPassphrase, kSecImportToMemoryOnly, kSecImportExportKeychain, kSecImportExportAccess]
        func add(_ reference: NSObject, where isTaken: (NSString) -> Bool) throws(StatusError) -> OSStatus {
            let attributes = NSMutableDictionary()
            for (key, value) in options {
                guard let key = key as? NSString, !own.contains(key), isTaken(key) else { continue }
                attributes.setObject(value, forKey: key)
            }
            attributes.setObject(reference, forKey: kSecValueRef)
            let status = SecItemAdd(attributes, nil)
            guard status == errSecSuccess || status == errSecDuplicateItem else { throw StatusError(status) }
            return status
        }
        let status = try add(identity) { _ in true }
        for certificate in chain.dropFirst() {
            // Attributes that only keys have are not for the other certificates.
            _ = try add(SecCertificate(certificate)) { key in
                key.length != 4 || !AttributeCoding.isAttribute(AttributeName(rawValue: String(key)), of: .key)
                    || AttributeCoding.isAttribute(AttributeName(rawValue: String(key)), of: .certificate)
            }
        }
        let isSystems = try KeyParameters.truth(options, kSecUseSystemKeychain) ?? false
        let stored = try ItemOperations.current().identity(of: identity.certificate, usesSystemKeychain: isSystems)
        // Another certificate with the same issuer and serial number may exist.
        guard let stored else { throw StatusError(status == errSecDuplicateItem ? status : errSecItemNotFound) }
        return stored
    }
}

/// Reads passphrases from dictionaries and parameters.
enum Passphrase {
    /// Returns a passphrase that is given as text or data; `nil` if there is none.
    ///
    /// - Throws: `StatusError` (`errSecParam`) for an object of another type.
    static func value(_ object: Any?) throws(StatusError) -> SecretBytes? {
        switch object {
        case nil: nil
        case let text as String: SecretBytes(utf8: text)
        case let data as Data: SecretBytes(data)
        default: throw .parameter("the passphrase is neither text nor data")
        }
    }
}
