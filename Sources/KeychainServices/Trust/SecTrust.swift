import Foundation
import Keyfob
import KeyfobPrimitives
import OpenSSL

/// A question of trust: certificates, what they are to be good for, and whom to believe; `SecTrustRef`.
///
/// Two are equal when they are the same object. Any thread may use one at any time.
// Everything that changes is behind the lock: the class is Sendable, though its superclass does not say so.
public final class SecTrust: NSObject, @unchecked Sendable {
    /// What is asked.
    struct Question: Sendable {
        /// The leaf first: the caller's own objects.
        var certificates: [SecCertificate]
        var policies: [SecPolicy]
        /// Whom to believe besides, or in place of, the system's authorities; `nil` for those alone. The caller's own
        /// objects.
        var anchors: [SecCertificate]?
        /// Whether the system's authorities are believed too; `nil` where nobody said.
        var believesSystem: Bool?
        /// The moment that is asked about; `nil` for now.
        var date: Date?
        var allowsNetwork = false
        /// What somebody accepts.
        var exception: TrustException?
        /// Certificates that are accepted before and after their validity too.
        var undated: Set<Certificate> = []

        /// The leaf.
        var leaf: Certificate { certificates[0].certificate }
    }

    /// What was found.
    struct Answer: Sendable {
        /// The leaf first, as far as it could be found: the caller's own objects where the DER is equal. They live as
        /// long as the answer is kept, since code of Apple's platforms points at them when their array is gone.
        let chain: [SecCertificate]
        /// The reason why it is not trusted; `nil` where it is.
        let failure: OSStatus?
        /// The certificate that the reason is about, where it is about one of the chain.
        var culprit: Certificate?
        /// The moment that was asked about.
        let date: Date
        /// Whether it is trusted only because somebody accepts what is wrong with it.
        var isException = false

        /// The result in Apple's terms.
        var result: SecTrustResultType {
            failure != nil ? .recoverableTrustFailure : isException ? .proceed : .unspecified
        }
    }

    private struct State {
        var question: Question
        var answer: Answer?
        /// Counts the changes of the question: an answer is kept only while the question is the one it was found for.
        var generation = 0
    }

    private let state: Lock<State>

    init(_ question: Question) { state = Lock(State(question: question)) }

    /// What is asked.
    var question: Question { state.withLock { $0.question } }

    /// Changes the question; the last answer is forgotten.
    func change(_ change: (inout Question) -> Void) {
        state.withLock { state in
            change(&state.question)
            state.answer = nil
            state.generation += 1
        }
    }

    /// The answer, found now if it was not before. Blocks for some milliseconds.
    ///
    /// - Throws: `OpenSSLError` where libcrypto fails; what reading the system's authorities throws.
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
            // A change meanwhile makes this the answer to an old question: right for this call, and for no later one.
            guard state.generation == asked.generation else { return found }
            // Another thread has been faster, and gave out the objects of its answer.
            if let known = state.answer { return known }
            state.answer = found
            return found
        }
    }

    /// The last answer; `nil` where nobody asked since the last change.
    var answer: Answer? { state.withLock { $0.answer } }
}

extension SecTrust.Question {
    /// Builds and verifies the chain, for every policy.
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
            // Whom the keychain's owner trusts stands beside the system's authorities, for what they are trusted for.
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
        // Last: what is wrong with the chain itself is the better reason.
        if chain.count > 1, !own.contains(leaf), policies.contains(where: \.requiresRevocationAnswer) {
            return answer(chain, errSecIncompleteCertRevocationCheck, date)
        }
        return answer(chain, nil, date)
    }

    /// An answer, with the caller's own objects in its chain.
    private func answer(_ chain: [Certificate], _ failure: OSStatus?, _ date: Date) -> SecTrust.Answer {
        let known = certificates + (anchors ?? [])
        let objects = chain.map { one in known.first { $0.certificate == one } ?? SecCertificate(one) }
        return SecTrust.Answer(chain: objects, failure: failure, date: date)
    }
}

extension OSStatus {
    /// Why a chain was not accepted.
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

    /// The system's authorities, read once for the process. - Throws: What reading the file throws.
    static func shared() throws -> [Certificate] {
        if let known = loaded.withLock({ $0 }) { return known }
        let roots = try load()
        loaded.withLock { $0 = roots }
        return roots
    }
}

/// Trust in the certificates that the owner of the process's keychain trusts.
enum KeychainTrust {
    /// The anchors for a purpose, where the keychain is open or opens without asking anybody; else none.
    ///
    /// A question of trust has an answer without a keychain: what is wrong with it is no reason to refuse one.
    static func anchors(for purpose: CertificateChain.Purpose) -> [Certificate] {
        guard let usage = CertificateUsage.known.first(where: { $0.purpose == purpose }),
            let anchors = try? currentKeychain().trustAnchorsIfUnlocked(for: usage)
        else { return [] }
        return anchors.map(\.certificate)
    }

    /// The authorities that the process may see, of which one may have issued a certificate; nobody believes them for
    /// being there. None where the keychain cannot be opened without asking somebody.
    static func intermediates() -> [Certificate] {
        var request = ItemRequest(itemClass: .certificate)
        request.matchesAnySynchronizable = true
        // Without a keychain, or with a damaged one, the question has the answer that it had before.
        guard let operations = try? ItemOperations.current(), let criteria = try? operations.criteria(request) else {
            return []
        }
        return ((try? operations.keychain.certificatesIfUnlocked(criteria)) ?? []).filter(\.isCA)
    }
}
