public import Foundation
import KeyfobOpenSSL

// Evaluation of trust; SecTrust.h. Nothing is fetched over a network, and revocation is not checked.

/// Creates a trust object for certificates.
///
/// - Parameters:
///   - certificates: The certificate, or an array of it and others that may be needed. If an issuer is missing, the
///     keychain's certificates in the access groups of the process are considered too, if the keychain opens without
///     user interaction.
///   - policies: A policy, an array of policies that must all be met, or `nil` for `SecPolicyCreateBasicX509()`.
///   - trust: Receives the object to evaluate.
/// - Returns: `errSecSuccess`; `errSecParam` if there is no certificate, or for an object of another class.
@discardableResult
public func SecTrustCreateWithCertificates(
    _ certificates: CFTypeRef, _ policies: CFTypeRef?, _ trust: UnsafeMutablePointer<SecTrust?>
) -> OSStatus {
    guard let certificates: [SecCertificate] = members(certificates), !certificates.isEmpty,
        let policies: [SecPolicy] = policies.map({ members($0) }) ?? [SecPolicyCreateBasicX509()]
    else { return errSecParam }
    unsafe trust.pointee = SecTrust(SecTrust.Question(
        certificates: certificates,
        policies: policies.isEmpty ? [SecPolicyCreateBasicX509()] : policies))
    return errSecSuccess
}

/// Returns an object, or the objects of an array; `nil` unless all are of the class.
private func members<Member>(_ object: CFTypeRef) -> [Member]? {
    if let one = object as? Member { return [one] }
    guard let array = object as? NSArray else { return nil }
    let members = array.compactMap { $0 as? Member }
    return members.count == array.count ? members : nil
}

/// Replaces the policies.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - policies: A policy or an array of policies.
/// - Returns: `errSecSuccess`; `errSecParam` for an object of another class, or without a policy.
@discardableResult
public func SecTrustSetPolicies(_ trust: SecTrust, _ policies: CFTypeRef) -> OSStatus {
    guard let policies: [SecPolicy] = members(policies), !policies.isEmpty else { return errSecParam }
    trust.change { $0.policies = policies }
    return errSecSuccess
}

/// Returns the policies.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - policies: Receives an array.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustCopyPolicies(_ trust: SecTrust, _ policies: UnsafeMutablePointer<CFArray?>) -> OSStatus {
    unsafe policies.pointee = trust.question.policies as CFArray
    return errSecSuccess
}

/// Replaces the system's authorities by other anchors.
///
/// A later call of `SecTrustSetAnchorCertificatesOnly` can add the system's authorities.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - anchorCertificates: Certificates; `nil` restores the system's authorities.
/// - Returns: `errSecSuccess`; `errSecParam` for an object of another class.
@discardableResult
public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchorCertificates: CFArray?) -> OSStatus {
    var anchors: [SecCertificate]?
    if let anchorCertificates {
        anchors = members(anchorCertificates)
        guard anchors != nil else { return errSecParam }
    }
    // Setting anchors resets an earlier choice about the system's authorities.
    let own = anchors
    trust.change { ($0.anchors, $0.believesSystem) = (own, nil) }
    return errSecSuccess
}

/// Sets whether the anchors are trusted without the system's authorities.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - anchorCertificatesOnly: Whether only the anchors are trusted.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ anchorCertificatesOnly: Bool) -> OSStatus {
    trust.change { $0.believesSystem = !anchorCertificatesOnly }
    return errSecSuccess
}

/// Returns the anchors that were set; `nil` if none were.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - anchors: Receives an array.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustCopyCustomAnchorCertificates(
    _ trust: SecTrust, _ anchors: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    unsafe anchors.pointee = trust.question.anchors.map { $0 as CFArray }
    return errSecSuccess
}

/// Returns the system's authorities. The first call blocks to read a file.
///
/// - Parameter anchors: Receives an array.
/// - Returns: `errSecSuccess`; `errSecTrustNotAvailable` if they cannot be read.
@discardableResult
public func SecTrustCopyAnchorCertificates(_ anchors: UnsafeMutablePointer<CFArray?>) -> OSStatus {
    do {
        unsafe anchors.pointee = try SystemRoots.shared().map { SecCertificate($0) } as CFArray
        return errSecSuccess
    } catch { return errSecTrustNotAvailable }
}

/// Sets the date to evaluate at.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - verifyDate: The date.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustSetVerifyDate(_ trust: SecTrust, _ verifyDate: CFDate) -> OSStatus {
    let date = Date(timeIntervalSinceReferenceDate: verifyDate.timeIntervalSinceReferenceDate)
    trust.change { $0.date = date }
    return errSecSuccess
}

/// Returns the date to evaluate at; now, unless one was set.
///
/// - Parameter trust: The object to evaluate.
@discardableResult
public func SecTrustGetVerifyTime(_ trust: SecTrust) -> CFAbsoluteTime {
    (trust.question.date ?? Date()).timeIntervalSinceReferenceDate
}

/// Sets whether certificates may be fetched. The value is stored and has no effect.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - allowFetch: Whether they may.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustSetNetworkFetchAllowed(_ trust: SecTrust, _ allowFetch: Bool) -> OSStatus {
    trust.change { $0.allowsNetwork = allowFetch }
    return errSecSuccess
}

/// Returns whether certificates may be fetched.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - allowFetch: Receives the value.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustGetNetworkFetchAllowed(_ trust: SecTrust, _ allowFetch: UnsafeMutablePointer<Bool>) -> OSStatus {
    unsafe allowFetch.pointee = trust.question.allowsNetwork
    return errSecSuccess
}

/// Evaluates trust. Blocks for some milliseconds, and to read the keychain's certificates if an issuer is missing.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - error: Receives `nil` if the certificate is trusted, else the reason: `errSecCertificateExpired`,
///     `errSecCertificateNotValidYet`, `errSecHostNameMismatch`, `errSecCreateChainFailed` if an issuer is missing,
///     `errSecCertificateCannotOperate` if it has another purpose, `errSecInvalidKeyUsageForPolicy` if its key has
///     other usages, `errSecIncompleteCertRevocationCheck` if a policy requires an answer about revocation, a code for
///     a defect of the chain such as `errSecNoBasicConstraintsCA`, or `errSecNotTrusted`.
/// - Returns: Whether the certificate is trusted.
@discardableResult
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool {
    do {
        guard let failure = try trust.evaluate().failure else {
            unsafe error?.pointee = nil
            return true
        }
        unsafe error?.pointee = NSError(status: StatusError(failure))
    } catch let failure {
        unsafe error?.pointee = NSError(status: failure)
    }
    return false
}

/// Evaluates trust; the older form of `SecTrustEvaluateWithError`.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - result: Receives `unspecified` for a trusted certificate, `proceed` if it is trusted because of an exception,
///     else `recoverableTrustFailure`.
/// - Returns: `errSecSuccess`, also for a certificate that is not trusted.
@discardableResult
public func SecTrustEvaluate(_ trust: SecTrust, _ result: UnsafeMutablePointer<SecTrustResultType>) -> OSStatus {
    do {
        unsafe result.pointee = try trust.evaluate().result
        return errSecSuccess
    } catch {
        unsafe result.pointee = .otherError
        return OSStatus(error)
    }
}

/// Returns the result of the last evaluation. Evaluates if necessary, as Apple does.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - result: Receives the result that `SecTrustEvaluate` gives; `invalid` if the evaluation fails.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustGetTrustResult(_ trust: SecTrust, _ result: UnsafeMutablePointer<SecTrustResultType>) -> OSStatus {
    unsafe result.pointee = reporting(nil) { try trust.evaluate().result } ?? .invalid
    return errSecSuccess
}

/// Returns the chain as far as it was found, leaf first; `nil` if the evaluation fails. Evaluates if necessary.
///
/// Every call returns the same objects, which live as long as `trust` exists unchanged. Certificates that the caller
/// supplied are the caller's own objects.
///
/// - Parameter trust: The object to evaluate.
@discardableResult
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? {
    do { return try trust.evaluate().chain as CFArray } catch { return nil }
}

/// Returns the number of certificates in the chain.
///
/// - Parameter trust: The object to evaluate.
@discardableResult
public func SecTrustGetCertificateCount(_ trust: SecTrust) -> CFIndex {
    SecTrustCopyCertificateChain(trust)?.count ?? 0
}

/// Returns a certificate of the chain, the same object as in `SecTrustCopyCertificateChain`; `nil` if out of range.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - ix: The index in the chain; the leaf has 0.
@discardableResult
public func SecTrustGetCertificateAtIndex(_ trust: SecTrust, _ ix: CFIndex) -> SecCertificate? {
    guard let chain = SecTrustCopyCertificateChain(trust), (0..<chain.count).contains(ix) else { return nil }
    return chain.object(at: ix) as? SecCertificate
}

/// Returns the public key of the leaf, whether it is trusted or not.
///
/// - Parameter trust: The object to evaluate.
@discardableResult
public func SecTrustCopyKey(_ trust: SecTrust) -> SecKey? {
    SecCertificateCopyKey(trust.question.certificates[0])
}

/// The older name of `SecTrustCopyKey`.
///
/// - Parameter trust: The object to evaluate.
@discardableResult
public func SecTrustCopyPublicKey(_ trust: SecTrust) -> SecKey? { SecTrustCopyKey(trust) }

/// Returns `kSecTrustEvaluationDate` and `kSecTrustResultValue`; `nil` if the evaluation fails. Evaluates if necessary.
///
/// - Parameter trust: The object to evaluate.
@discardableResult
public func SecTrustCopyResult(_ trust: SecTrust) -> CFDictionary? {
    guard let answer = reporting(nil, { try trust.evaluate() }) else { return nil }
    return [
        kSecTrustEvaluationDate: answer.date, kSecTrustResultValue: NSNumber(value: answer.result.rawValue),
    ] as CFDictionary
}

/// Returns the type identifier of `SecTrust`.
@discardableResult
public func SecTrustGetTypeID() -> CFTypeID { SecTrust.typeID }

extension SecTrust: TypeIdentified { static var typeID: CFTypeID { 261 } }
