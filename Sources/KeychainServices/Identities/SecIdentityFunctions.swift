import Foundation
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
/// - Returns: `errSecItemNotFound` where the keychain has no such key, `errSecMissingEntitlement` where the process has no
///   access group, or what unlocking it meets.
@discardableResult
public func SecIdentityCreateWithCertificate(
    _ keychainOrArray: CFTypeRef?, _ certificateRef: SecCertificate, _ identityRef: UnsafeMutablePointer<SecIdentity?>
) -> OSStatus {
    do {
        guard let identity = try ItemOperations.current().identity(of: certificateRef) else { return errSecItemNotFound }
        unsafe identityRef.pointee = identity
        return errSecSuccess
    } catch {
        return OSStatus(error)
    }
}
