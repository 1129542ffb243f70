public import Foundation
import Keyfob
import KeyfobPrimitives
import OpenSSL

/// Reads a PKCS#12 file; SecImportExport.h.
///
/// Nothing is stored, unless `kSecUseDataProtectionKeychain` is true and `kSecImportToMemoryOnly` is not: then
/// identities and the certificates above them are added to the keychain, a root too, which nobody believes for that,
/// with what else the options say as attributes, and what is there already is left as it is. Keys that were stored so
/// cannot leave the token. The first `SecItemAdd` of what the import added is no duplicate: the item gets the attributes
/// of that call. An identity that was removed after the import can be added again as long as the caller holds it; until
/// then its key is in memory, too. Blocks while the passphrase is derived, from milliseconds to seconds, as the file asks.
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

    /// Adds an identity and the certificates above it.
    ///
    /// - Returns: The identity as it is in the keychain, and the certificates.
    /// - Throws: `StatusError`, `KeychainError`; what is there already is no error.
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
