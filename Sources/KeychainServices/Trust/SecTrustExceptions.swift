public import Foundation

// Exceptions to trust failures, and evaluation on a queue; SecTrust.h.

/// Returns the failures of an evaluation in a form that `SecTrustSetExceptions` accepts. Evaluates if necessary.
///
/// The exception names the leaf, the requirements of the policies, and all failures. It does not cover another
/// certificate, another host, or a failure that occurs later. An expired certificate is named as well.
///
/// - Parameter trust: The object to evaluate.
/// - Returns: Bytes to store; `nil` if the evaluation fails.
@discardableResult
public func SecTrustCopyExceptions(_ trust: SecTrust) -> CFData? {
    do {
        let question = trust.question
        let failures = try question.failures(beginningWith: question.answer()).all
        return TrustException(question, failures: failures).encoded as CFData
    } catch { return nil }
}

/// Accepts the failures that an earlier evaluation found.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - exceptions: The result of `SecTrustCopyExceptions`; `nil` removes the exceptions.
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

/// Receives the object, whether its certificate is trusted, and the reason if it is not.
public typealias SecTrustWithErrorCallback = @Sendable (SecTrust, Bool, CFError?) -> Void

/// Evaluates on a queue, with the keychain of the caller.
///
/// - Parameters:
///   - trust: The object to evaluate.
///   - queue: The queue for the evaluation and for `result`.
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
