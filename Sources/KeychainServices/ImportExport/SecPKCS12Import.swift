public import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// Imports a PKCS#12 file; SecImportExport.h.
///
/// By default nothing is stored. If `kSecUseDataProtectionKeychain` is true and `kSecImportToMemoryOnly` is not, the
/// identities and the certificates above them are added to the keychain. Storing a root does not make it trusted. Other
/// options become attributes, existing items stay unchanged, and the stored keys cannot leave the token.
///
/// The first `SecItemAdd` of an item that the import has added succeeds and gives it the attributes of that call. An
/// identity that is removed after the import can be added again while the caller holds it; its key stays in memory
/// until then. Blocks while a key is derived from the passphrase, from milliseconds to seconds, as the file requires.
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
            let chain = entry.chain.certificates
            guard isStored, !staysInMemory else { return (entry, identity, chain.map { SecCertificate($0) }) }
            let stored = try PKCS12File.store(identity, chain, options)
            return (entry, stored.identity, stored.chain)
        }
        unsafe items.pointee = entries.map { entry, identity, chain in
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

    /// Adds an identity and the certificates above it.
    ///
    /// - Returns: The identity as it is in the keychain, and the certificates.
    /// - Throws: `StatusError`, `KeychainError`, except for items that exist already.
    static func store(
        _ identity: SecIdentity, _ chain: [Certificate], _ options: NSDictionary
    ) throws -> (identity: SecIdentity, chain: [SecCertificate]) {
        let own = [kSecImportExportPassphrase, kSecImportToMemoryOnly, kSecImportExportKeychain, kSecImportExportAccess]
        let operations = try ItemOperations.current()
        func addition(of reference: NSObject, where isTaken: (NSString) -> Bool) throws -> ItemRequest {
            let attributes = NSMutableDictionary()
            for (key, value) in options {
                guard let key = key as? NSString, !own.contains(key), isTaken(key) else { continue }
                attributes.setObject(value, forKey: key)
            }
            attributes.setObject(reference, forKey: kSecValueRef)
            return try operations.addition(attributes)
        }
        /// What was added; `nil` where it was there.
        func adding<Added>(_ add: () throws -> Added) throws -> Added? {
            do { return try add() } catch let error as KeychainError where error.code == .duplicateItem { return nil }
        }
        let request = try addition(of: identity) { _ in true }
        let added = try adding { try operations.addHalves(identity, request) }
        let authorities = try chain.dropFirst().map { certificate in
            // An attribute of the key alone is none of theirs.
            let request = try addition(of: SecCertificate(certificate)) { key in
                key.length != 4 || !AttributeCoding.isAttribute(AttributeName(rawValue: String(key)), of: .key)
                    || AttributeCoding.isAttribute(AttributeName(rawValue: String(key)), of: .certificate)
            }
            let isNew = try adding { try operations.store(request) } != nil
            return SecCertificate(certificate, imported: ImportedItem(isNew: isNew))
        }
        let found = try operations.identity(of: identity.certificate, usesSystemKeychain: request.usesSystemKeychain)
        guard let found, case .memory(let key) = identity.privateKey.material else {
            // Another certificate with this issuer and serial number may stand in the way.
            throw StatusError(added == nil ? errSecDuplicateItem : errSecItemNotFound)
        }
        let leaf = SecCertificate(
            identity.certificate.certificate, imported: ImportedItem(isNew: added?.certificate != nil))
        let privateKey = SecKey(
            found.privateKey.material, item: found.privateKey.item,
            imported: ImportedItem(key: key, isNew: added?.key != nil))
        return (SecIdentity(certificate: leaf, privateKey: privateKey), [leaf] + authorities)
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
