public import Foundation
import OpenSSL

// Trust in spite of a failure, and evaluation on a queue; SecTrust.h.

/// What is wrong with a certificate, in a form that `SecTrustSetExceptions` accepts; evaluates where that was not done yet.
///
/// It names the leaf, what the policies ask for and the failure: another certificate, another host and another failure it
/// does not excuse.
///
/// - Parameter trust: The object to evaluate.
/// - Returns: Bytes to be kept; `nil` where the evaluation fails.
public func SecTrustCopyExceptions(_ trust: SecTrust) -> CFData? {
    do {
        let answer = try trust.evaluate()
        let question = trust.question
        let accepted = answer.isException ? question.exception?.failure : nil
        return TrustException(question, failure: answer.failure ?? accepted ?? errSecSuccess).encoded as CFData
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
        exception.leaf == TrustException.digest(of: trust.question.certificates[0])
    else { return false }
    trust.change { $0.exception = exception }
    return true
}

/// What is called with the object, whether its certificate is trusted, and the reason if it is not.
public typealias SecTrustWithErrorCallback = @Sendable (SecTrust, Bool, CFError?) -> Void

/// Evaluates on a queue.
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
    queue.async {
        var error: CFError?
        let isTrusted = unsafe SecTrustEvaluateWithError(trust, &error)
        result(trust, isTrusted, error)
    }
    return errSecSuccess
}

/// A failure that somebody accepts for a certificate and what it is to be good for.
struct TrustException: Hashable, Sendable {
    /// SHA-256 of the leaf's DER.
    let leaf: Data
    /// SHA-256 of what the policies ask for: who accepts a certificate for one host does not accept it for another.
    private let policies: Data
    /// The code of the failure; `errSecSuccess` where there was none.
    let failure: OSStatus

    init(_ question: SecTrust.Question, failure: OSStatus) {
        (leaf, policies) = (Self.digest(of: question.certificates[0]), Self.digest(of: question.policies))
        self.failure = failure
    }

    /// Reads what `encoded` gave; `nil` for other bytes.
    init?(encoded: Data) {
        let bytes = [UInt8](encoded)
        guard bytes.count == 68 else { return nil }
        (leaf, policies) = (Data(bytes[..<32]), Data(bytes[32..<64]))
        failure = OSStatus(bitPattern: bytes[64...].reduce(0) { $0 << 8 | UInt32($1) })
    }

    /// The two digests, and the code with its first byte first.
    var encoded: Data {
        leaf + policies + (0..<4).map { UInt8(truncatingIfNeeded: UInt32(bitPattern: failure) >> (24 - 8 * $0)) }
    }

    /// Whether a failure is the accepted one, of the same certificate for the same use.
    func accepts(_ failure: OSStatus, of question: SecTrust.Question) -> Bool {
        failure == self.failure && self == TrustException(question, failure: failure)
    }

    static func digest(of leaf: Certificate) -> Data { Digest.sha256(leaf.der) }

    private static func digest(of policies: [SecPolicy]) -> Data {
        let texts = policies.map { policy in
            let properties = policy.properties
            return [properties.identifier, properties.name ?? "\u{1}", String(properties.isClient)].joined(separator: "\0")
        }
        return Digest.sha256(Data(texts.joined(separator: "\0\0").utf8))
    }
}
