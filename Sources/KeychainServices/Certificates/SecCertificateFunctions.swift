public import Foundation
import Keyfob
import KeyfobOpenSSL

// Properties of certificates, and preferred certificates; SecCertificate.h. Only the functions for preferences block.

/// Creates a certificate from its DER; `nil` for other bytes.
///
/// - Parameters:
///   - allocator: Ignored.
///   - data: One certificate in DER, with nothing after it.
@discardableResult
public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? {
    do { return SecCertificate(try Certificate(der: data as Data)) } catch { return nil }
}

/// Returns the DER.
///
/// - Parameter certificate: The certificate.
@discardableResult
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData {
    certificate.certificate.der as CFData
}

/// Returns a display name: the common name or the closest substitute; `nil` if the subject is empty.
///
/// - Parameter certificate: The certificate.
@discardableResult
public func SecCertificateCopySubjectSummary(_ certificate: SecCertificate) -> CFString? {
    certificate.certificate.subjectSummary.map { NSString(string: $0) }
}

/// Returns the most specific common name of the subject.
///
/// - Parameters:
///   - certificate: The certificate.
///   - commonName: Receives the name.
/// - Returns: `errSecSuccess`; `errSecInternal` if there is none.
@discardableResult
public func SecCertificateCopyCommonName(
    _ certificate: SecCertificate, _ commonName: UnsafeMutablePointer<CFString?>
) -> OSStatus {
    guard let name = certificate.certificate.subject.commonName else { return errSecInternal }
    unsafe commonName.pointee = NSString(string: name)
    return errSecSuccess
}

/// Returns the e-mail addresses in the alternative names and the subject.
///
/// - Parameters:
///   - certificate: The certificate.
///   - emailAddresses: Receives an array of strings, which may be empty.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecCertificateCopyEmailAddresses(
    _ certificate: SecCertificate, _ emailAddresses: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    unsafe emailAddresses.pointee = certificate.certificate.emailAddresses.map { NSString(string: $0) } as CFArray
    return errSecSuccess
}

/// Returns the issuer as a Name in DER. Printable strings are in upper case and without surplus spaces.
///
/// - Parameter certificate: The certificate.
@discardableResult
public func SecCertificateCopyNormalizedIssuerSequence(_ certificate: SecCertificate) -> CFData? {
    certificate.certificate.issuer.normalizedSequence as CFData
}

/// Returns the subject as a Name in DER. Printable strings are in upper case and without surplus spaces.
///
/// - Parameter certificate: The certificate.
@discardableResult
public func SecCertificateCopyNormalizedSubjectSequence(_ certificate: SecCertificate) -> CFData? {
    certificate.certificate.subject.normalizedSequence as CFData
}

/// Returns the public key; `nil` for an unsupported type of key.
///
/// - Parameter certificate: The certificate.
@discardableResult
public func SecCertificateCopyKey(_ certificate: SecCertificate) -> SecKey? {
    let key = certificate.certificate.publicKey
    if case .other = key.algorithm { return nil }
    return SecKey(.public(key))
}

/// The older name of `SecCertificateCopyKey`.
///
/// - Parameter certificate: The certificate.
@discardableResult
public func SecCertificateCopyPublicKey(_ certificate: SecCertificate) -> SecKey? {
    SecCertificateCopyKey(certificate)
}

/// Returns the bytes of the serial number, including a leading zero.
///
/// - Parameters:
///   - certificate: The certificate.
///   - error: Left unchanged.
@discardableResult
public func SecCertificateCopySerialNumberData(
    _ certificate: SecCertificate, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    certificate.certificate.serialNumber as CFData
}

/// The older name of `SecCertificateCopySerialNumberData`.
///
/// - Parameters:
///   - certificate: The certificate.
///   - error: Left unchanged.
@discardableResult
public func SecCertificateCopySerialNumber(
    _ certificate: SecCertificate, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe SecCertificateCopySerialNumberData(certificate, error)
}

/// The iOS form of `SecCertificateCopySerialNumberData`.
///
/// - Parameter certificate: The certificate.
@discardableResult
public func SecCertificateCopySerialNumber(_ certificate: SecCertificate) -> CFData? {
    SecCertificateCopySerialNumberData(certificate, nil)
}

/// The older name of `SecCertificateCopyNormalizedIssuerSequence`.
///
/// - Parameters:
///   - certificate: The certificate.
///   - error: Left unchanged.
@discardableResult
public func SecCertificateCopyNormalizedIssuerContent(
    _ certificate: SecCertificate, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    SecCertificateCopyNormalizedIssuerSequence(certificate)
}

/// The older name of `SecCertificateCopyNormalizedSubjectSequence`.
///
/// - Parameters:
///   - certificate: The certificate.
///   - error: Left unchanged.
@discardableResult
public func SecCertificateCopyNormalizedSubjectContent(
    _ certificate: SecCertificate, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    SecCertificateCopyNormalizedSubjectSequence(certificate)
}

/// Returns the first moment at which the certificate is valid.
///
/// - Parameter certificate: The certificate.
@discardableResult
public func SecCertificateCopyNotValidBeforeDate(_ certificate: SecCertificate) -> CFDate? {
    certificate.certificate.notBefore as CFDate
}

/// Returns the last moment at which the certificate is valid.
///
/// - Parameter certificate: The certificate.
@discardableResult
public func SecCertificateCopyNotValidAfterDate(_ certificate: SecCertificate) -> CFDate? {
    certificate.certificate.notAfter as CFDate
}

/// Returns the preferred certificate for a name, such as the address that mail is encrypted to.
///
/// Blocks for the vault, and for the token if it must be read. The name must match exactly, even a URL, and preferred
/// identities are not considered. A preference for exactly these key usages comes before one for more usages, and that
/// before one for any. A certificate that is not valid today is not returned.
///
/// - Parameters:
///   - name: An e-mail address, or another name.
///   - keyUsage: Usages of the key, such as `kSecAttrCanEncrypt`; `nil` for any.
/// - Returns: The certificate; `nil` if none is preferred or the keychain cannot be read.
@discardableResult
public func SecCertificateCopyPreferred(_ name: CFString, _ keyUsage: CFArray?) -> SecCertificate? {
    do {
        return try ItemOperations.current().preferredCertificate(String(name), ItemOperations.keyUsages(keyUsage))
    } catch { return nil }
}

/// Makes a certificate the preferred one for a name, independently of `SecIdentitySetPreferred`.
///
/// - Parameters:
///   - certificate: The certificate, which must be in the keychain; `nil` removes the preference.
///   - name: An e-mail address, or another name.
///   - keyUsage: Usages of the key; `nil` for any.
/// - Returns: `errSecSuccess`, also if there was no preference to remove; `errSecInvalidItemRef` if the certificate is
///   not in the keychain, `errSecParam` for an empty name, `errSecMissingEntitlement` if the process has no access
///   group, or an error of unlocking the keychain.
@discardableResult
public func SecCertificateSetPreferred(
    _ certificate: SecCertificate?, _ name: CFString, _ keyUsage: CFArray?
) -> OSStatus {
    do {
        try ItemOperations.current().setPreferred(
            .certificate, certificate, String(name), ItemOperations.keyUsages(keyUsage))
        return errSecSuccess
    } catch { return OSStatus(error) }
}
