public import Foundation

// Trust in spite of a failure, and evaluation on a queue; SecTrust.h.

/// What is wrong with a certificate, in a form that `SecTrustSetExceptions` accepts; evaluates where that was not done
/// yet.
///
/// It names the leaf, what the policies ask for, and all failures that there are: another certificate, another host and
/// a failure that comes later it does not excuse. Of an expiry it names the certificate too.
///
/// - Parameter trust: The object to evaluate.
/// - Returns: Bytes to be kept; `nil` where the evaluation fails.
@discardableResult
public func SecTrustCopyExceptions(_ trust: SecTrust) -> CFData? {
    do {
        let question = trust.question
        let failures = try question.failures(beginningWith: question.answer()).all
        return TrustException(question, failures: failures).encoded as CFData
    } catch { return nil }
}

/// Accepts what was wrong with a certificate once.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - exceptions: What `SecTrustCopyExceptions` gave; `nil` accepts nothing any more.
/// - Returns: Whether the bytes are for this certificate; `false` for others, and for `nil`.
@discardableResult
public func SecTrustSetExceptions(_ trust: SecTrust, _ exceptions: CFData?) -> Bool {
    guard let exceptions else {
        trust.change { $0.exception = nil }
        return false
    }
    guard let exception = TrustException(encoded: exceptions as Data),
        exception.leaf == TrustException.digest(of: trust.question.leaf)
    else { return false }
    trust.change { $0.exception = exception }
    return true
}

/// What is called with the object, whether its certificate is trusted, and the reason if it is not.
public typealias SecTrustWithErrorCallback = @Sendable (SecTrust, Bool, CFError?) -> Void

/// Evaluates on a queue, with the keychain of the call.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - queue: Where it is evaluated, and where `result` is called.
///   - result: Called once.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustEvaluateAsyncWithError(
    _ trust: SecTrust, _ queue: DispatchQueue, _ result: @escaping SecTrustWithErrorCallback
) -> OSStatus {
    KeychainSelection.runAsync(on: queue) {
        var error: CFError?
        let isTrusted = unsafe SecTrustEvaluateWithError(trust, &error)
        result(trust, isTrusted, error)
    }
    return errSecSuccess
}
