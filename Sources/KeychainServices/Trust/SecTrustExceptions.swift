public import Foundation
import OpenSSL

// Trust in spite of a failure, and evaluation on a queue; SecTrust.h.

/// What is wrong with a certificate, in a form that `SecTrustSetExceptions` accepts; evaluates where that was not done
/// yet.
///
/// It names the leaf, what the policies ask for, and all failures that there are: another certificate, another host and
/// a failure that comes later it does not excuse.
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

/// Failures that somebody accepts of a certificate and what it is to be good for.
struct TrustException: Sendable {
    /// SHA-256 of the leaf's DER.
    let leaf: Data
    /// SHA-256 of what the policies ask for: who accepts a certificate for one host does not accept it for another.
    private let policies: Data
    /// The codes of the failures.
    let failures: [OSStatus]

    init(_ question: SecTrust.Question, failures: [OSStatus]) {
        (leaf, policies) = (Self.digest(of: question.leaf), Self.digest(of: question.policies))
        self.failures = failures
    }

    /// Reads what `encoded` gave; `nil` for other bytes.
    init?(encoded: Data) {
        let bytes = [UInt8](encoded)
        guard bytes.count >= 64, bytes.count % 4 == 0 else { return nil }
        (leaf, policies) = (Data(bytes[..<32]), Data(bytes[32..<64]))
        failures = stride(from: 64, to: bytes.count, by: 4).map { start in
            OSStatus(bitPattern: bytes[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) })
        }
    }

    /// The two digests, and the codes with their first bytes first.
    var encoded: Data {
        failures.reduce(leaf + policies) { bytes, code in
            bytes + (0..<4).map { UInt8(truncatingIfNeeded: UInt32(bitPattern: code) >> (24 - 8 * $0)) }
        }
    }

    /// Whether it is for the same certificate and the same use.
    func isFor(_ question: SecTrust.Question) -> Bool {
        leaf == Self.digest(of: question.leaf) && policies == Self.digest(of: question.policies)
    }

    static func digest(of leaf: Certificate) -> Data { Digest.sha256(leaf.der) }

    private static func digest(of policies: [SecPolicy]) -> Data {
        let texts = policies.map { policy in
            let properties = policy.properties
            // Of one name or none, and without a usage, what it always was: exceptions are kept for years.
            let names = properties.names.isEmpty ? "\u{1}" : properties.names.joined(separator: "\u{1}")
            let usage = properties.keyUsage.isEmpty ? [] : [String(properties.keyUsage.rawValue)]
            return ([properties.identifier, names, String(properties.isClient)] + usage).joined(separator: "\0")
        }
        return Digest.sha256(Data(texts.joined(separator: "\0\0").utf8))
    }
}

extension SecTrust.Question {
    /// All that is wrong, one after the other: each failure is looked past to see the next.
    ///
    /// - Parameter first: The answer to this question.
    /// - Returns: The failures, and whether it was possible to look past the last of them.
    /// - Throws: As `answer()`.
    func failures(beginningWith first: SecTrust.Answer) throws -> (all: [OSStatus], isComplete: Bool) {
        var (question, answer) = (self, first)
        var found: [OSStatus] = []
        while let failure = answer.failure {
            guard !found.contains(failure), let next = question.lookingPast(failure, answer.chain) else {
                return (found + [failure], false)
            }
            found.append(failure)
            question = next
            answer = try question.answer()
        }
        return (found, true)
    }

    /// The same question, but for what failed; `nil` for a failure that hides everything else.
    private func lookingPast(_ failure: OSStatus, _ chain: [SecCertificate]) -> SecTrust.Question? {
        var question = self
        switch failure {
        case errSecHostNameMismatch, errSecSMIMEEmailAddressesNotFound:
            question.policies = policies.map { policy in
                var properties = policy.properties
                properties.names = []
                return SecPolicy(properties)
            }
        case errSecCertificateExpired, errSecCertificateNotValidYet:
            // A moment at which all of them are valid.
            let chain = chain.map(\.certificate)
            guard let from = chain.map(\.notBefore).max(), let to = chain.map(\.notAfter).min(), from < to else { return nil }
            question.date = from.addingTimeInterval(to.timeIntervalSince(from) / 2)
        case errSecCreateChainFailed, errSecNotTrusted, errSecNoBasicConstraintsCA, errSecPathLengthConstraintExceeded,
            errSecInvalidName, errSecUnknownCriticalExtensionFlag, errSecUnsupportedKeySize:
            question.believesSystem = believesSystem ?? (anchors == nil)
            question.anchors = (anchors ?? []) + [certificates[0]]
        case errSecInvalidKeyUsageForPolicy:
            question.policies = policies.map { policy in
                var properties = policy.properties
                properties.keyUsage = []
                return SecPolicy(properties)
            }
        case errSecIncompleteCertRevocationCheck:
            question.policies = policies.map { policy in
                var properties = policy.properties
                properties.revocationFlags &= ~kSecRevocationRequirePositiveResponse
                return SecPolicy(properties)
            }
        case errSecCertificateCannotOperate:
            question.policies = [SecPolicyCreateBasicX509()]
        default: return nil
        }
        return question
    }
}
