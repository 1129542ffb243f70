public import Dispatch
public import Foundation
import KeyfobOpenSSL

// The older form of evaluation on a queue, descriptions of results, and data that peers send; SecTrust.h.

/// Receives the result of an evaluation.
public typealias SecTrustCallback = @Sendable (SecTrust, SecTrustResultType) -> Void

/// Evaluates on a queue, with the keychain of the caller; the older form of `SecTrustEvaluateAsyncWithError`.
///
/// Returns at once.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - queue: The queue for the evaluation and for `result`; `nil` for the system's queue.
///   - result: Receives the object and the result of `SecTrustEvaluate`.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustEvaluateAsync(
    _ trust: SecTrust, _ queue: DispatchQueue?, _ result: @escaping SecTrustCallback
) -> OSStatus {
    KeychainSelection.runAsync(on: queue ?? .global()) {
        var found = SecTrustResultType.invalid
        unsafe SecTrustEvaluate(trust, &found)
        result(trust, found)
    }
    return errSecSuccess
}

/// The key of a certificate's name in `SecTrustCopyProperties`.
@safe nonisolated(unsafe) public let kSecPropertyTypeTitle: CFString = "title"
/// The key of the failure in `SecTrustCopyProperties`.
@safe nonisolated(unsafe) public let kSecPropertyTypeError: CFString = "error"

/// Describes the result of an evaluation; `nil` if the evaluation fails.
///
/// The array has a dictionary for each certificate of the chain, leaf first, with `kSecPropertyTypeTitle`. The leaf's
/// also has `kSecPropertyTypeError` if the chain is not trusted, even if another certificate is the cause. Evaluates if
/// necessary.
///
/// - Parameter trust: The object to evaluate.
@discardableResult
public func SecTrustCopyProperties(_ trust: SecTrust) -> CFArray? {
    guard let answer = reporting(nil, { try trust.evaluate() }) else { return nil }
    let properties = answer.chain.enumerated().map { index, certificate in
        let members = NSMutableDictionary()
        if let title = certificate.certificate.subjectSummary {
            members.setObject(NSString(string: title), forKey: kSecPropertyTypeTitle)
        }
        if index == 0, let failure = answer.failure {
            members.setObject(NSString(string: StatusDescription.sentence(failure)), forKey: kSecPropertyTypeError)
        }
        return members
    }
    return NSArray(array: properties)
}

/// Accepts OCSP responses and ignores them: revocation is not checked.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - responseData: A response or an array of responses; `nil` for none.
/// - Returns: `errSecSuccess`; `errSecParam` for anything but data.
@discardableResult
public func SecTrustSetOCSPResponse(_ trust: SecTrust, _ responseData: CFTypeRef?) -> OSStatus {
    switch responseData {
    case nil, is NSData: errSecSuccess
    case let responses as NSArray: responses.contains { !($0 is Data) } ? errSecParam : errSecSuccess
    default: errSecParam
    }
}

/// Accepts timestamps of certificate transparency and ignores them: no log is required.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - sctArray: Timestamps; `nil` for none.
/// - Returns: `errSecSuccess`; `errSecParam` for anything but data.
@discardableResult
public func SecTrustSetSignedCertificateTimestamps(_ trust: SecTrust, _ sctArray: CFArray?) -> OSStatus {
    sctArray?.contains { !($0 is Data) } == true ? errSecParam : errSecSuccess
}
