import Foundation
import Keyfob
import OpenSSL

// Certificates with their private keys; SecIdentity.h.

/// The certificate of an identity.
///
/// - Parameters:
///   - identityRef: The identity.
///   - certificateRef: Takes the certificate.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecIdentityCopyCertificate(
    _ identityRef: SecIdentity, _ certificateRef: UnsafeMutablePointer<SecCertificate?>
) -> OSStatus {
    unsafe certificateRef.pointee = identityRef.certificate
    return errSecSuccess
}

/// The private key of an identity.
///
/// - Parameters:
///   - identityRef: The identity.
///   - privateKeyRef: Takes the key.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecIdentityCopyPrivateKey(
    _ identityRef: SecIdentity, _ privateKeyRef: UnsafeMutablePointer<SecKey?>
) -> OSStatus {
    unsafe privateKeyRef.pointee = identityRef.privateKey
    return errSecSuccess
}

/// An identity of a certificate and a private key; `nil` where the certificate is for another key.
///
/// - Parameters:
///   - allocator: Without effect.
///   - certificate: The certificate.
///   - privateKey: The key, in memory or on a token.
@discardableResult
public func SecIdentityCreate(
    _ allocator: CFAllocator?, _ certificate: SecCertificate, _ privateKey: SecKey
) -> SecIdentity? {
    guard privateKey.isPrivate, certificate.certificate.publicKey == privateKey.publicKey else { return nil }
    return SecIdentity(certificate: certificate, privateKey: privateKey)
}

/// The identity of a certificate, with its private key from the keychain. Blocks for the token.
///
/// The key is looked for in the access groups of the process, among synchronizable items too.
///
/// - Parameters:
///   - keychainOrArray: Without effect: there is one keychain.
///   - certificateRef: The certificate, which need not be in the keychain.
///   - identityRef: Takes the identity.
/// - Returns: `errSecItemNotFound` where the keychain has no such key, `errSecMissingEntitlement` where the process has
///   no access group, or what unlocking it meets.
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

/// The identity that is preferred for a name. Blocks for the vault, and where the token must be read.
///
/// For a URL the preference for it counts first, then that for the longest beginning of it, then that for its host,
/// then that for the domain that the host is in (`*.example.org`). A preference for just these uses of the key comes
/// before one for more, and that before one for any; without `keyUsage` a preference for any use comes first. An
/// identity that is not valid today is not given out.
///
/// - Parameters:
///   - name: A URL, an e-mail address, or another name.
///   - keyUsage: What the key is to do: `kSecAttrCanSign` and the like; `nil` for any use.
///   - validIssuers: Names in DER of authorities, of which one must be above the certificate; `nil` for any.
/// - Returns: `nil` where no such identity is preferred, and where the keychain cannot be read.
@discardableResult
public func SecIdentityCopyPreferred(_ name: CFString, _ keyUsage: CFArray?, _ validIssuers: CFArray?) -> SecIdentity? {
    let issuers = (validIssuers ?? []).compactMap { $0 as? Data }
    do {
        return try ItemOperations.current().preferredIdentity(
            String(name), ItemOperations.keyUsages(keyUsage), issuers: issuers)
    } catch { return nil }
}

/// Prefers an identity for a name. Blocks for a transaction of the vault.
///
/// The preference is kept with the certificate, which must be in the keychain: it goes when that is deleted, and on to
/// the certificate that takes its place in a renewal.
///
/// - Parameters:
///   - identity: The identity; `nil` takes the preference back.
///   - name: A URL, an e-mail address, or another name.
///   - keyUsage: What the key is to do: `kSecAttrCanSign` and the like. `nil` for any use; the preferences for all uses
///     are taken back then.
/// - Returns: `errSecInvalidItemRef` where the certificate is not in the keychain, `errSecParam` for an empty name,
///   `errSecMissingEntitlement` where the process has no access group, or what unlocking the keychain meets. That there
///   was no preference to take back is no error.
@discardableResult
public func SecIdentitySetPreferred(_ identity: SecIdentity?, _ name: CFString, _ keyUsage: CFArray?) -> OSStatus {
    do {
        try ItemOperations.current().setPreferred(
            .identity, identity?.certificate, String(name), ItemOperations.keyUsages(keyUsage))
        return errSecSuccess
    } catch { return OSStatus(error) }
}
