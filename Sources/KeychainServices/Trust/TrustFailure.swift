import Foundation
import KeyfobOpenSSL

/// One failure of a chain.
struct TrustFailure: Hashable, Sendable {
    /// The code of the failure.
    let status: OSStatus
    /// SHA-256 of the DER of the certificate that is not valid at the date; `nil` for every other failure.
    let certificate: Data?

    init(_ status: OSStatus, _ certificate: Data?) { (self.status, self.certificate) = (status, certificate) }

    /// The failure of an answer; `nil` if the chain is trusted.
    init?(_ answer: SecTrust.Answer) {
        guard let status = answer.failure else { return nil }
        self.init(status, Self.isAboutValidity(status) ? answer.culprit.map { Digest.sha256($0.der) } : nil)
    }

    /// Whether a failure is about the validity period, of which a chain may have several.
    static func isAboutValidity(_ status: OSStatus) -> Bool {
        status == errSecCertificateExpired || status == errSecCertificateNotValidYet
    }
}

extension SecTrust.Question {
    /// Returns all failures, found by suppressing each one and evaluating again.
    ///
    /// - Parameter first: The answer to this question.
    /// - Returns: The failures, and whether the last of them could be suppressed.
    /// - Throws: `OpenSSLError` if libcrypto fails; the errors of reading the system's authorities.
    func failures(beginningWith first: SecTrust.Answer) throws -> (all: [TrustFailure], isComplete: Bool) {
        var (question, answer) = (self, first)
        var found: [TrustFailure] = []
        while let failure = TrustFailure(answer) {
            guard !found.contains(failure), let next = question.lookingPast(failure.status, answer.culprit) else {
                return (found + [failure], false)
            }
            found.append(failure)
            question = next
            answer = try question.answer()
        }
        return (found, true)
    }

    /// Returns the question with a failure suppressed; `nil` for a failure that hides all others.
    private func lookingPast(_ failure: OSStatus, _ culprit: Certificate?) -> SecTrust.Question? {
        var question = self
        switch failure {
        case errSecHostNameMismatch, errSecSMIMEEmailAddressesNotFound:
            question.policies = policies.map { policy in
                var properties = policy.properties
                properties.names = []
                return SecPolicy(properties)
            }
        case errSecCertificateExpired, errSecCertificateNotValidYet:
            // For this certificate only: others may be invalid too, and there may be no date at which all are valid.
            guard let culprit else { return nil }
            question.undated.insert(culprit)
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
