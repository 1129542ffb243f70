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
public func SecIdentityCreate(
    _ allocator: CFAllocator?, _ certificate: SecCertificate, _ privateKey: SecKey
) -> SecIdentity? {
    guard privateKey.isPrivate, certificate.certificate.publicKey == privateKey.publicKey else { return nil }
    return SecIdentity(certificate: certificate, privateKey: privateKey)
}

/// The identity of a certificate, with its private key from the keychain. Blocks for the token.
///
/// - Parameters:
///   - keychainOrArray: Without effect: there is one keychain.
///   - certificateRef: The certificate, which need not be in the keychain.
///   - identityRef: Takes the identity.
/// - Returns: `errSecItemNotFound` where the keychain has no such key, or what unlocking it meets.
@discardableResult
public func SecIdentityCreateWithCertificate(
    _ keychainOrArray: CFTypeRef?, _ certificateRef: SecCertificate, _ identityRef: UnsafeMutablePointer<SecIdentity?>
) -> OSStatus {
    do {
        let keychain = try currentKeychain()
        let key = certificateRef.certificate.publicKey
        let criteria = Criteria(
            .key, [.applicationLabel: .data(key.identifier), .keyClass: .number(KeyClass.private.rawValue)])
        guard let item = try keychain.findItems(criteria).first else { return errSecItemNotFound }
        let tokenKey = try keychain.tokenKey(for: KeyItem(item: item))
        guard tokenKey.publicKey == key else { return errSecItemNotFound }
        unsafe identityRef.pointee = SecIdentity(
            certificate: certificateRef, privateKey: SecKey(.token(tokenKey), item: item))
        return errSecSuccess
    } catch {
        return OSStatus(error)
    }
}
