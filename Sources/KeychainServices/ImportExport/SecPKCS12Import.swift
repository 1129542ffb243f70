public import Foundation
import Keyfob
import KeyfobPrimitives
import OpenSSL

/// Reads a PKCS#12 file; SecImportExport.h.
///
/// Nothing is stored, unless `kSecUseDataProtectionKeychain` is true and `kSecImportToMemoryOnly` is not: then
/// identities and the certificates above them are added to the keychain, a root too, which nobody believes for that,
/// with what else the options say as attributes, and what is there already is left as it is. Keys that were stored so
/// cannot leave the token. Blocks while the passphrase is derived, from milliseconds to seconds, as the file asks.
///
/// - Parameters:
///   - pkcs12_data: The file.
///   - options: `kSecImportExportPassphrase`; without it the passphrase is the empty one.
///   - items: Takes an array with a dictionary for each identity: `kSecImportItemIdentity`, `kSecImportItemTrust`,
///     `kSecImportItemCertChain`, `kSecImportItemKeyID`, and `kSecImportItemLabel` where the file has a name. A file
///     without an identity gives an empty array.
/// - Returns: `errSecAuthFailed` for a missing or wrong passphrase, `errSecPkcs12VerifyFailure` for a file that was
///   changed, `errSecDecode` for one that is damaged or none at all, `errSecParam` for an option of a wrong type, and
///   what storing meets.
@discardableResult
public func SecPKCS12Import(
    _ pkcs12_data: CFData, _ options: CFDictionary, _ items: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    do {
        // As Apple's does, none counts as an empty one: that is wrong for nearly every file.
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

/// PKCS#12 files, with the codes of Keychain Services.
enum PKCS12File {
    /// What a file holds. - Throws: `StatusError`.
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

    /// Adds an identity and the certificates above it, and gives the identity as it is in the keychain.
    ///
    /// - Throws: `StatusError`; what is there already is none.
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
            // An attribute of the key alone is none of theirs.
            _ = try add(SecCertificate(certificate)) { key in
                key.length != 4 || !AttributeCoding.isAttribute(AttributeName(rawValue: String(key)), of: .key)
                    || AttributeCoding.isAttribute(AttributeName(rawValue: String(key)), of: .certificate)
            }
        }
        let isSystems = try KeyParameters.truth(options, kSecUseSystemKeychain) ?? false
        let stored = try ItemOperations.current().identity(of: identity.certificate, usesSystemKeychain: isSystems)
        // Another certificate with this issuer and serial number may stand in the way.
        guard let stored else { throw StatusError(status == errSecDuplicateItem ? status : errSecItemNotFound) }
        return stored
    }
}

/// Passphrases in dictionaries and parameters.
enum Passphrase {
    /// The bytes of a passphrase, which is given as text or data; `nil` for none.
    ///
    /// - Throws: `StatusError` (`errSecParam`) for something else.
    static func value(_ object: Any?) throws(StatusError) -> SecretBytes? {
        switch object {
        case nil: nil
        case let text as String: SecretBytes(utf8: text)
        case let data as Data: SecretBytes(data)
        default: throw .parameter("the passphrase is neither text nor data")
        }
    }
}
