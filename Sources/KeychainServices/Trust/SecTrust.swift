import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// A trust evaluation: certificates, policies and anchors; `SecTrustRef`.
///
/// Two are equal if they are the same object. Any thread may use one at any time.
// All mutable state is behind the lock. Unchecked because the superclass does not declare it.
public final class SecTrust: NSObject, @unchecked Sendable {
    /// The input of an evaluation.
    struct Question: Sendable {
        /// The leaf first; the caller's own objects.
        var certificates: [SecCertificate]
        var policies: [SecPolicy]
        /// Anchors in addition to, or instead of, the system's authorities; `nil` for the system's alone. The caller's
        /// own objects.
        var anchors: [SecCertificate]?
        /// Whether the system's authorities are trusted; `nil` for the default.
        var believesSystem: Bool?
        /// The date to evaluate at; `nil` for now.
        var date: Date?
        var allowsNetwork = false
        /// The accepted failures.
        var exception: TrustException?
        /// Certificates whose validity period is ignored.
        var undated: Set<Certificate> = []

        /// The leaf.
        var leaf: Certificate { certificates[0].certificate }
    }

    /// The result of an evaluation.
    struct Answer: Sendable {
        /// The chain as far as it was found, leaf first. Certificates that the caller supplied are the caller's own
        /// objects. They live as long as the answer, because code for Apple's platforms refers to them after releasing
        /// the array.
        let chain: [SecCertificate]
        /// Why the chain is not trusted; `nil` if it is.
        let failure: OSStatus?
        /// The certificate that caused the failure, if it is one of the chain.
        var culprit: Certificate?
        /// The date of the evaluation.
        let date: Date
        /// Whether the chain is trusted only because of an accepted exception.
        var isException = false

        /// The result in Apple's terms.
        var result: SecTrustResultType {
            failure != nil ? .recoverableTrustFailure : isException ? .proceed : .unspecified
        }
    }

    private struct State {
        var question: Question
        var answer: Answer?
        /// Counts the changes of the question. An answer is stored only if the question is unchanged.
        var generation = 0
    }

    private let state: Lock<State>

    init(_ question: Question) { state = Lock(State(question: question)) }

    /// The input of the evaluation.
    var question: Question { state.withLock { $0.question } }

    /// Changes the question and discards the last answer.
    func change(_ change: (inout Question) -> Void) {
        state.withLock { state in
            change(&state.question)
            state.answer = nil
            state.generation += 1
        }
    }

    /// Returns the answer, evaluating if necessary. Blocks for some milliseconds.
    ///
    /// - Throws: `OpenSSLError` if libcrypto fails; the errors of reading the system's authorities.
    func evaluate() throws -> Answer {
        let asked = state.withLock { $0 }
        if let known = asked.answer { return known }
        let question = asked.question
        var answer = try question.answer()
        if answer.failure != nil, let exception = question.exception, exception.isFor(question) {
            let failures = try question.failures(beginningWith: answer)
            let left = failures.all.first { !exception.covers($0) }
            answer = Answer(
                chain: answer.chain, failure: left?.status ?? (failures.isComplete ? nil : answer.failure),
                date: answer.date, isException: left == nil && failures.isComplete)
        }
        let found = answer
        return state.withLock { state in
            // The question has changed during the evaluation: the answer is right for this call only.
            guard state.generation == asked.generation else { return found }
            // Another thread was faster and has already returned the objects of its answer.
            if let known = state.answer { return known }
            state.answer = found
            return found
        }
    }

    /// The last answer; `nil` if there was no evaluation since the last change.
    var answer: Answer? { state.withLock { $0.answer } }
}

extension SecTrust.Question {
    /// Builds and verifies the chain for every policy.
    func answer() throws -> SecTrust.Answer {
        let date = date ?? Date()
        let believesSystem = believesSystem ?? (anchors == nil)
        let own = (anchors ?? []).map(\.certificate)
        let given = own + (believesSystem ? try SystemRoots.shared() : [])
        let leaf = leaf
        var rest = certificates.dropFirst().map(\.certificate)
        var mayAskKeychain = true
        var chain: [Certificate] = []
        for policy in policies {
            // The keychain's trusted certificates are anchors beside the system's, for the purposes that they are
            // trusted for.
            let anchors = given + (believesSystem ? KeychainTrust.anchors(for: policy.purpose) : [])
            func verify() throws -> CertificateChain.VerificationResult {
                try CertificateChain.verify(
                    leaf: leaf, intermediates: rest, anchors: anchors, on: date,
                    host: policy.hosts.count == 1 ? policy.hosts[0] : nil, purpose: policy.purpose,
                    acceptsAnyUsage: true, undated: undated)
            }
            var result = try verify()
            if mayAskKeychain, result.failure.map({ OSStatus($0.code) }) == errSecCreateChainFailed {
                mayAskKeychain = false
                let known = KeychainTrust.intermediates()
                if !known.isEmpty {
                    rest += known
                    result = try verify()
                }
            }
            switch result {
            case .trusted(let found): chain = found
            case .rejected(let failure):
                let known = CertificateChain.order(leaf: leaf, candidates: rest + own, on: date)
                var answer = answer(known.certificates, OSStatus(failure.code), date)
                answer.culprit = failure.certificate
                return answer
            }
            guard policy.isSatisfied(byHostsOf: leaf) else {
                return answer(chain, errSecHostNameMismatch, date)
            }
            guard policy.isSatisfied(byEmailAddressesOf: leaf) else {
                return answer(chain, errSecSMIMEEmailAddressesNotFound, date)
            }
            guard policy.isSatisfied(byKeyUsageOf: leaf) else {
                return answer(chain, errSecInvalidKeyUsageForPolicy, date)
            }
        }
        // Checked last, because a failure of the chain itself is the better reason.
        if chain.count > 1, !own.contains(leaf), policies.contains(where: \.requiresRevocationAnswer) {
            return answer(chain, errSecIncompleteCertRevocationCheck, date)
        }
        return answer(chain, nil, date)
    }

    /// Returns an answer whose chain consists of the caller's own objects where possible.
    private func answer(_ chain: [Certificate], _ failure: OSStatus?, _ date: Date) -> SecTrust.Answer {
        let known = certificates + (anchors ?? [])
        let objects = chain.map { one in known.first { $0.certificate == one } ?? SecCertificate(one) }
        return SecTrust.Answer(chain: objects, failure: failure, date: date)
    }
}

extension OSStatus {
    /// The code for a failure of verification.
    fileprivate init(_ code: CertificateChain.FailureCode) {
        self =
            switch code {
            case .expired: errSecCertificateExpired
            case .notYetValid: errSecCertificateNotValidYet
            case .hostMismatch, .addressMismatch: errSecHostNameMismatch
            case .issuerNotFound, .leafNotVerified: errSecCreateChainFailed
            case .wrongPurpose: errSecCertificateCannotOperate
            case .notAnAuthority: errSecNoBasicConstraintsCA
            case .pathTooLong: errSecPathLengthConstraintExceeded
            case .nameNotPermitted, .nameExcluded: errSecInvalidName
            case .unknownCriticalExtension: errSecUnknownCriticalExtensionFlag
            case .weakKey, .weakAuthorityKey: errSecUnsupportedKeySize
            default: errSecNotTrusted
            }
    }
}

extension SystemRoots {
    private static let loaded = Lock<[Certificate]?>(nil)

    /// Returns the system's authorities, read once for the process.
    ///
    /// - Throws: The errors of reading the file.
    static func shared() throws -> [Certificate] {
        if let known = loaded.withLock({ $0 }) { return known }
        let roots = try load()
        loaded.withLock { $0 = roots }
        return roots
    }
}
