public import Foundation
import OpenSSL

// Evaluation of trust; SecTrust.h. Nothing is fetched over a network, and revocation is not checked.

/// Asks about certificates.
///
/// - Parameters:
///   - certificates: The certificate, or an array of it and the others that may be needed. Where an issuer is missing
///     among them, the keychain's certificates in the access groups of the process are looked at too, unless somebody
///     would have to be asked to open it.
///   - policies: A policy, an array of policies that must all be met, or `nil` for `SecPolicyCreateBasicX509()`.
///   - trust: Takes the object to evaluate.
/// - Returns: `errSecParam` where there is no certificate, or for an object of another class.
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

/// An object, or the objects of an array, if all are of a class.
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
/// - Returns: `errSecParam` for an object of another class.
@discardableResult
public func SecTrustSetPolicies(_ trust: SecTrust, _ policies: CFTypeRef) -> OSStatus {
    guard let policies: [SecPolicy] = members(policies), !policies.isEmpty else { return errSecParam }
    trust.change { $0.policies = policies }
    return errSecSuccess
}

/// The policies.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - policies: Takes an array.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustCopyPolicies(_ trust: SecTrust, _ policies: UnsafeMutablePointer<CFArray?>) -> OSStatus {
    unsafe policies.pointee = trust.question.policies as CFArray
    return errSecSuccess
}

/// Says whom to believe, in place of the system's authorities unless `SecTrustSetAnchorCertificatesOnly` says otherwise
/// afterwards.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - anchorCertificates: Certificates; `nil` goes back to the system's authorities.
/// - Returns: `errSecParam` for an object of another class.
@discardableResult
public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchorCertificates: CFArray?) -> OSStatus {
    var anchors: [SecCertificate]?
    if let anchorCertificates {
        anchors = members(anchorCertificates)
        guard anchors != nil else { return errSecParam }
    }
    // What was said of the system's authorities before goes: who names anchors last means these alone.
    let own = anchors
    trust.change { ($0.anchors, $0.believesSystem) = (own, nil) }
    return errSecSuccess
}

/// Says whether the system's authorities are not believed beside the anchors.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - anchorCertificatesOnly: Whether the anchors alone are believed.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ anchorCertificatesOnly: Bool) -> OSStatus {
    trust.change { $0.believesSystem = !anchorCertificatesOnly }
    return errSecSuccess
}

/// The anchors that were set; `nil` where there are none.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - anchors: Takes an array.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustCopyCustomAnchorCertificates(
    _ trust: SecTrust, _ anchors: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    unsafe anchors.pointee = trust.question.anchors.map { $0 as CFArray }
    return errSecSuccess
}

/// The system's authorities. Blocks for reading a file at the first call.
///
/// - Parameter anchors: Takes an array.
/// - Returns: `errSecTrustNotAvailable` where the system has none that can be read.
@discardableResult
public func SecTrustCopyAnchorCertificates(_ anchors: UnsafeMutablePointer<CFArray?>) -> OSStatus {
    do {
        unsafe anchors.pointee = try SystemRoots.shared().map { SecCertificate($0) } as CFArray
        return errSecSuccess
    } catch { return errSecTrustNotAvailable }
}

/// Says which moment is asked about.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - verifyDate: The moment.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustSetVerifyDate(_ trust: SecTrust, _ verifyDate: CFDate) -> OSStatus {
    let date = Date(timeIntervalSinceReferenceDate: verifyDate.timeIntervalSinceReferenceDate)
    trust.change { $0.date = date }
    return errSecSuccess
}

/// The moment that is asked about; now, where nobody said.
///
/// - Parameter trust: The object to evaluate.
@discardableResult
public func SecTrustGetVerifyTime(_ trust: SecTrust) -> CFAbsoluteTime {
    (trust.question.date ?? Date()).timeIntervalSinceReferenceDate
}

/// Says whether certificates may be fetched. Kept, and without effect.
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

/// Whether certificates may be fetched.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - allowFetch: Takes the answer.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustGetNetworkFetchAllowed(_ trust: SecTrust, _ allowFetch: UnsafeMutablePointer<Bool>) -> OSStatus {
    unsafe allowFetch.pointee = trust.question.allowsNetwork
    return errSecSuccess
}

/// Evaluates. Blocks for some milliseconds; where an issuer is missing, for as long as it takes to read the keychain's
/// certificates.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - error: Takes `nil` where the certificate is trusted, else the reason: `errSecCertificateExpired`,
///     `errSecCertificateNotValidYet`, `errSecHostNameMismatch`, `errSecCreateChainFailed` where an issuer is missing,
///     `errSecCertificateCannotOperate` where it is for something else, `errSecInvalidKeyUsageForPolicy` where its key
///     is, `errSecIncompleteCertRevocationCheck` where a policy requires an answer about revocation, `errSecNotTrusted`
///     for everything else.
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

/// Evaluates; the older form of `SecTrustEvaluateWithError`.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - result: Takes `unspecified` for what is trusted, `proceed` where that is an exception's doing, else
///     `recoverableTrustFailure`.
/// - Returns: `errSecSuccess`, also for what is not trusted.
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

/// What the last evaluation found; evaluates where nobody has since the last change, as Apple's does.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - result: As for `SecTrustEvaluate`; `invalid` where the evaluation fails.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustGetTrustResult(_ trust: SecTrust, _ result: UnsafeMutablePointer<SecTrustResultType>) -> OSStatus {
    unsafe result.pointee = reporting(nil) { try trust.evaluate().result } ?? .invalid
    return errSecSuccess
}

/// The chain, leaf first, as far as it was found; evaluates where that was not done yet. `nil` where that fails.
///
/// Every call gives the same objects, which live as long as `trust` does and nothing is changed about it. Of the
/// certificates that were given to it they are the caller's own.
///
/// - Parameter trust: The object to evaluate.
@discardableResult
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? {
    do { return try trust.evaluate().chain as CFArray } catch { return nil }
}

/// How many certificates the chain has.
///
/// - Parameter trust: The object to evaluate.
@discardableResult
public func SecTrustGetCertificateCount(_ trust: SecTrust) -> CFIndex {
    SecTrustCopyCertificateChain(trust)?.count ?? 0
}

/// A certificate of the chain, the same object as in `SecTrustCopyCertificateChain`; `nil` outside of it.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - ix: The place in the chain; the leaf is at 0.
@discardableResult
public func SecTrustGetCertificateAtIndex(_ trust: SecTrust, _ ix: CFIndex) -> SecCertificate? {
    guard let chain = SecTrustCopyCertificateChain(trust), (0..<chain.count).contains(ix) else { return nil }
    return chain.object(at: ix) as? SecCertificate
}

/// The public key of the leaf, whether it is trusted or not.
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

/// What the last evaluation found: `kSecTrustEvaluationDate` and `kSecTrustResultValue`; evaluates where nobody has
/// since the last change. `nil` where that fails.
///
/// - Parameter trust: The object to evaluate.
@discardableResult
public func SecTrustCopyResult(_ trust: SecTrust) -> CFDictionary? {
    guard let answer = reporting(nil, { try trust.evaluate() }) else { return nil }
    return [
        kSecTrustEvaluationDate: answer.date, kSecTrustResultValue: NSNumber(value: answer.result.rawValue),
    ] as CFDictionary
}

/// The number of `SecTrust`.
@discardableResult
public func SecTrustGetTypeID() -> CFTypeID { SecTrust.typeID }

extension SecTrust: TypeIdentified { static var typeID: CFTypeID { 261 } }
