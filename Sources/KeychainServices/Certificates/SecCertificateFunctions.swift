public import Foundation
import Keyfob
import OpenSSL

// What certificates tell of themselves, and which are preferred; SecCertificate.h. Only the preferences block.

/// A certificate from its DER; `nil` where it is none.
///
/// - Parameters:
///   - allocator: Without effect.
///   - data: One certificate in DER, with nothing after it.
@discardableResult
public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? {
    do { return SecCertificate(try Certificate(der: data as Data)) } catch { return nil }
}

/// The DER.
///
/// - Parameter certificate: The certificate.
@discardableResult
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData {
    certificate.certificate.der as CFData
}

/// What to call the certificate: the common name, or what comes nearest to it; `nil` where its subject is empty.
///
/// - Parameter certificate: The certificate.
@discardableResult
public func SecCertificateCopySubjectSummary(_ certificate: SecCertificate) -> CFString? {
    certificate.certificate.subjectSummary.map { NSString(string: $0) }
}

/// The most specific common name of the subject.
///
/// - Parameters:
///   - certificate: The certificate.
///   - commonName: Takes the name.
/// - Returns: `errSecInternal` where there is none.
@discardableResult
public func SecCertificateCopyCommonName(
    _ certificate: SecCertificate, _ commonName: UnsafeMutablePointer<CFString?>
) -> OSStatus {
    guard let name = certificate.certificate.subject.commonName else { return errSecInternal }
    unsafe commonName.pointee = NSString(string: name)
    return errSecSuccess
}

/// The e-mail addresses, of the alternative names and of the subject.
///
/// - Parameters:
///   - certificate: The certificate.
///   - emailAddresses: Takes an array of strings, which may be empty.
/// - Returns: The result code.
@discardableResult
public func SecCertificateCopyEmailAddresses(
    _ certificate: SecCertificate, _ emailAddresses: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    unsafe emailAddresses.pointee = certificate.certificate.emailAddresses.map { NSString(string: $0) } as CFArray
    return errSecSuccess
}

/// The issuer as a Name in DER, printable strings in upper case and without surplus blanks.
///
/// - Parameter certificate: The certificate.
@discardableResult
public func SecCertificateCopyNormalizedIssuerSequence(_ certificate: SecCertificate) -> CFData? {
    certificate.certificate.issuer.normalizedSequence as CFData
}

/// The subject as a Name in DER, printable strings in upper case and without surplus blanks.
///
/// - Parameter certificate: The certificate.
@discardableResult
public func SecCertificateCopyNormalizedSubjectSequence(_ certificate: SecCertificate) -> CFData? {
    certificate.certificate.subject.normalizedSequence as CFData
}

/// The public key; `nil` for a kind of key that is not known here.
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

/// The bytes of the serial number, a leading zero included.
///
/// - Parameters:
///   - certificate: The certificate.
///   - error: Stays as it is.
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
///   - error: Stays as it is.
@discardableResult
public func SecCertificateCopySerialNumber(
    _ certificate: SecCertificate, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe SecCertificateCopySerialNumberData(certificate, error)
}

/// The form of iOS of `SecCertificateCopySerialNumberData`.
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
///   - error: Stays as it is.
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
///   - error: Stays as it is.
@discardableResult
public func SecCertificateCopyNormalizedSubjectContent(
    _ certificate: SecCertificate, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    SecCertificateCopyNormalizedSubjectSequence(certificate)
}

/// The first moment at which the certificate is valid.
///
/// - Parameter certificate: The certificate.
@discardableResult
public func SecCertificateCopyNotValidBeforeDate(_ certificate: SecCertificate) -> CFDate? {
    certificate.certificate.notBefore as CFDate
}

/// The last moment at which the certificate is valid.
///
/// - Parameter certificate: The certificate.
@discardableResult
public func SecCertificateCopyNotValidAfterDate(_ certificate: SecCertificate) -> CFDate? {
    certificate.certificate.notAfter as CFDate
}

/// The certificate that is preferred for a name, such as the address that mail is encrypted to. Blocks for the vault,
/// and where the token must be read.
///
/// The name must be the same, of a URL too, and preferred identities are not looked at. Of several uses of the key the
/// same is true as of `SecIdentityCopyPreferred`. A certificate that is not valid today is not given out.
///
/// - Parameters:
///   - name: An e-mail address, or another name.
///   - keyUsage: What the key is to do: `kSecAttrCanEncrypt` and the like; `nil` for any use.
/// - Returns: `nil` where no certificate is preferred, and where the keychain cannot be read.
@discardableResult
public func SecCertificateCopyPreferred(_ name: CFString, _ keyUsage: CFArray?) -> SecCertificate? {
    do {
        return try ItemOperations.current().preferredCertificate(String(name), ItemOperations.keyUsages(keyUsage))
    } catch { return nil }
}

/// Prefers a certificate for a name; as `SecIdentitySetPreferred`, and apart from the preferences made with that.
///
/// - Parameters:
///   - certificate: The certificate; `nil` takes the preference back.
///   - name: An e-mail address, or another name.
///   - keyUsage: What the key is to do; `nil` for any use.
/// - Returns: As `SecIdentitySetPreferred`.
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
