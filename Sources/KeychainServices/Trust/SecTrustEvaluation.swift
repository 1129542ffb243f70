public import Dispatch
public import Foundation
import OpenSSL

// The older form of evaluation on a queue, the words about an evaluation, and what others send along; SecTrust.h.

/// Takes the result of an evaluation.
public typealias SecTrustCallback = @Sendable (SecTrust, SecTrustResultType) -> Void

/// Evaluates on a queue, with the keychain of the call; the older form of `SecTrustEvaluateAsyncWithError`. Returns at
/// once.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - queue: Where it is evaluated and `result` is called; `nil` for the system's queue.
///   - result: Takes the object and what `SecTrustEvaluate` gives.
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
/// The key of what is wrong in `SecTrustCopyProperties`.
@safe nonisolated(unsafe) public let kSecPropertyTypeError: CFString = "error"

/// What was found, in words: a dictionary for each certificate of the chain, leaf first, with `kSecPropertyTypeTitle`;
/// in the leaf's `kSecPropertyTypeError` says what is wrong, with the leaf or with one above it. Evaluates where that
/// was not done yet; `nil` where that fails.
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

/// Takes answers of an OCSP service. They are without effect: revocation is not checked.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - responseData: An answer or an array of answers; `nil` for none.
/// - Returns: `errSecParam` for anything but data.
@discardableResult
public func SecTrustSetOCSPResponse(_ trust: SecTrust, _ responseData: CFTypeRef?) -> OSStatus {
    switch responseData {
    case nil, is NSData: errSecSuccess
    case let responses as NSArray: responses.contains { !($0 is Data) } ? errSecParam : errSecSuccess
    default: errSecParam
    }
}

/// Takes timestamps of certificate transparency. They are without effect: no log is asked for.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - sctArray: Timestamps; `nil` for none.
/// - Returns: `errSecParam` for anything but data.
@discardableResult
public func SecTrustSetSignedCertificateTimestamps(_ trust: SecTrust, _ sctArray: CFArray?) -> OSStatus {
    sctArray?.contains { !($0 is Data) } == true ? errSecParam : errSecSuccess
}
