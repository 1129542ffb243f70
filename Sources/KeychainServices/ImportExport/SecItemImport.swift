public import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// Imports keys and certificates; SecImportExport.h.
///
/// The format is detected from the data. Supported are certificates, keys in PKCS#1, SEC 1 and PKCS#8, plain or
/// encrypted, public keys, and PKCS#12, in PEM and DER. Hints about the format are ignored. Blocks while a key is
/// derived from the passphrase.
///
/// - Parameters:
///   - importedData: The file.
///   - fileNameOrExtension: Ignored.
///   - inputFormat: Receives the detected format.
///   - itemType: Receives the kind of the items.
///   - flags: Ignored.
///   - keyParams: The passphrase, and whether more than one private key is an error.
///   - importKeychain: If given, all items are added to the keychain of the process.
///   - outItems: Receives an array of `SecCertificate`, `SecKey` and `SecIdentity`.
/// - Returns: `errSecSuccess`; `errSecUnknownFormat`, `errSecUnsupportedFormat`, `errSecPassphraseRequired`,
///   `errSecAuthFailed` for a wrong passphrase, `errSecDecode`, `errSecMultiplePrivKeys`, and the errors of storing the
///   items.
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
