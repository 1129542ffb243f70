public import Foundation
import Keyfob
import KeyfobPrimitives
import OpenSSL

/// Reads keys and certificates; SecImportExport.h.
///
/// PEM and DER are told apart by looking, and so are certificates, keys in PKCS#1, SEC 1 and PKCS#8 plain and under a
/// passphrase, public keys, and PKCS#12. What formats and names are given as hints is not needed. Blocks while a
/// passphrase is derived.
///
/// - Parameters:
///   - importedData: The file.
///   - fileNameOrExtension: Without effect.
///   - inputFormat: Takes the format that was found.
///   - itemType: Takes the kind of what was found.
///   - flags: Without effect.
///   - keyParams: The passphrase, and whether more than one private key is an error.
///   - importKeychain: Where it is given, everything is added to the keychain of the process; there is only that.
///   - outItems: Takes an array of `SecCertificate`, `SecKey` and `SecIdentity`.
/// - Returns: `errSecUnknownFormat`, `errSecUnsupportedFormat`, `errSecPassphraseRequired`, `errSecAuthFailed` for a
///   wrong passphrase, `errSecDecode`, `errSecMultiplePrivKeys`, and what storing meets.
@discardableResult
public func SecItemImport(
    _ importedData: CFData, _ fileNameOrExtension: CFString?, _ inputFormat: UnsafeMutablePointer<SecExternalFormat>?,
    _ itemType: UnsafeMutablePointer<SecExternalItemType>?, _ flags: SecItemImportExportFlags,
    _ keyParams: UnsafePointer<SecItemImportExportKeyParameters>?, _ importKeychain: SecKeychain?,
    _ outItems: UnsafeMutablePointer<CFArray?>?
) -> OSStatus {
    do {
        let parameters = unsafe keyParams?.pointee
        let file = try ImportedFile(importedData as Data, passphrase: parameters?.secret())
        let privateKeys = file.items.count { ($0 as? SecKey)?.isPrivate ?? ($0 is SecIdentity) }
        if parameters?.flags.contains(.importOnlyOne) == true, privateKeys > 1 { return errSecMultiplePrivKeys }
        for item in importKeychain == nil ? [] : file.items {
            let status = SecItemAdd([kSecValueRef: item] as CFDictionary, nil)
            guard status == errSecSuccess || status == errSecDuplicateItem else { return status }
        }
        unsafe inputFormat?.pointee = file.format
        unsafe itemType?.pointee = file.itemType
        unsafe outItems?.pointee = file.items as CFArray
        return errSecSuccess
    } catch {
        return OSStatus(error)
    }
}
