import Foundation
import OpenSSL

/// One thing that is wrong with a chain.
struct TrustFailure: Hashable, Sendable {
    /// What is wrong.
    let status: OSStatus
    /// SHA-256 of the DER of the certificate that is not valid at the moment; `nil` for every other failure.
    let certificate: Data?

    init(_ status: OSStatus, _ certificate: Data?) { (self.status, self.certificate) = (status, certificate) }

    /// The failure of an answer; `nil` where there is none.
    init?(_ answer: SecTrust.Answer) {
        guard let status = answer.failure else { return nil }
        self.init(status, Self.isAboutValidity(status) ? answer.culprit.map { Digest.sha256($0.der) } : nil)
    }

    /// Whether a failure is one of a certificate's validity, of which a chain may have several.
    static func isAboutValidity(_ status: OSStatus) -> Bool {
        status == errSecCertificateExpired || status == errSecCertificateNotValidYet
    }
}

extension SecTrust.Question {
    /// All that is wrong, one after the other: each failure is looked past to see the next.
    ///
    /// - Parameter first: The answer to this question.
    /// - Returns: The failures, and whether it was possible to look past the last of them.
    /// - Throws: As `answer()`.
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

    /// The same question, but for what failed; `nil` for a failure that hides everything else.
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
            // Of this certificate alone: others may not be valid either, and there need not be a moment when all are.
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
