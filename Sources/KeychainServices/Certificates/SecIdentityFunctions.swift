import Foundation
import Keyfob
import KeyfobOpenSSL

// Certificates with their private keys; SecIdentity.h.

/// Returns the certificate of an identity.
///
/// - Parameters:
///   - identityRef: The identity.
///   - certificateRef: Receives the certificate.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecIdentityCopyCertificate(
    _ identityRef: SecIdentity, _ certificateRef: UnsafeMutablePointer<SecCertificate?>
) -> OSStatus {
    unsafe certificateRef.pointee = identityRef.certificate
    return errSecSuccess
}

/// Returns the private key of an identity.
///
/// - Parameters:
///   - identityRef: The identity.
///   - privateKeyRef: Receives the key.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecIdentityCopyPrivateKey(
    _ identityRef: SecIdentity, _ privateKeyRef: UnsafeMutablePointer<SecKey?>
) -> OSStatus {
    unsafe privateKeyRef.pointee = identityRef.privateKey
    return errSecSuccess
}

/// Creates an identity from a certificate and a private key; `nil` if the certificate is for another key.
///
/// - Parameters:
///   - allocator: Ignored.
///   - certificate: The certificate.
///   - privateKey: The key, in memory or on a token.
@discardableResult
public func SecIdentityCreate(
    _ allocator: CFAllocator?, _ certificate: SecCertificate, _ privateKey: SecKey
) -> SecIdentity? {
    guard privateKey.isPrivate, certificate.certificate.publicKey == privateKey.publicKey else { return nil }
    return SecIdentity(certificate: certificate, privateKey: privateKey)
}

/// Returns the identity of a certificate, with its private key from the keychain. Blocks for the token.
///
/// The key is searched in the access groups of the process, including synchronizable items.
///
/// - Parameters:
///   - keychainOrArray: Ignored: there is one keychain.
///   - certificateRef: The certificate, which need not be in the keychain.
///   - identityRef: Receives the identity.
/// - Returns: `errSecSuccess`; `errSecItemNotFound` if the keychain has no such key, `errSecMissingEntitlement` if the
///   process has no access group, or an error of unlocking the keychain.
@discardableResult
public func SecIdentityCreateWithCertificate(
    _ keychainOrArray: CFTypeRef?, _ certificateRef: SecCertificate, _ identityRef: UnsafeMutablePointer<SecIdentity?>
) -> OSStatus {
    do {
        guard let identity = try ItemOperations.current().identity(of: certificateRef) else {
            return errSecItemNotFound
        }
        unsafe identityRef.pointee = identity
        return errSecSuccess
    } catch {
        return OSStatus(error)
    }
}

/// Returns the preferred identity for a name. Blocks for the vault, and for the token if it must be read.
///
/// The best match for the name wins. For a URL these are, in order: the URL, its longest prefix, its host, and the
/// domain of the host (`*.example.org`). Among those, a preference for exactly these key usages comes before one for
/// more usages, and that before one for any; without `keyUsage` a preference for any usage comes first. An identity
/// that is not valid today is not returned.
///
/// - Parameters:
///   - name: A URL, an e-mail address, or another name.
///   - keyUsage: Usages of the key, such as `kSecAttrCanSign`; `nil` for any.
///   - validIssuers: Names of authorities in DER, one of which must be above the certificate; `nil` for any.
/// - Returns: The identity; `nil` if none is preferred or the keychain cannot be read.
@discardableResult
public func SecIdentityCopyPreferred(_ name: CFString, _ keyUsage: CFArray?, _ validIssuers: CFArray?) -> SecIdentity? {
    let issuers = (validIssuers ?? []).compactMap { $0 as? Data }
    do {
        return try ItemOperations.current().preferredIdentity(
            String(name), ItemOperations.keyUsages(keyUsage), issuers: issuers)
    } catch { return nil }
}

/// Makes an identity the preferred one for a name. Blocks for a vault transaction.
///
/// The preference is stored with the certificate, which must be in the keychain. It is deleted with the certificate,
/// and a renewal moves it to the new certificate.
///
/// - Parameters:
///   - identity: The identity; `nil` removes the preference.
///   - name: A URL, an e-mail address, or another name.
///   - keyUsage: Usages of the key, such as `kSecAttrCanSign`. `nil` stands for any; removing it then removes the
///     preferences for all usages.
/// - Returns: `errSecSuccess`, also if there was no preference to remove; `errSecInvalidItemRef` if the certificate is
///   not in the keychain, `errSecParam` for an empty name, `errSecMissingEntitlement` if the process has no access
///   group, or an error of unlocking the keychain.
@discardableResult
public func SecIdentitySetPreferred(_ identity: SecIdentity?, _ name: CFString, _ keyUsage: CFArray?) -> OSStatus {
    do {
        try ItemOperations.current().setPreferred(
            .identity, identity?.certificate, String(name), ItemOperations.keyUsages(keyUsage))
        return errSecSuccess
    } catch { return OSStatus(error) }
}
