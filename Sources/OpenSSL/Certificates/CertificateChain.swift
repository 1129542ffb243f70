import COpenSSL
public import Foundation

/// A leaf and the certificates that vouch for it, each signed by the next.
public struct CertificateChain: Hashable, Sendable {
    /// Leaf first; the root last where it was among the candidates.
    public let certificates: [Certificate]
    /// Whether the last certificate signed itself, so that nothing is missing.
    public let isComplete: Bool

    /// The chain without its root, as a TLS server sends it: the leaf always, intermediates in order.
    public var withoutRoot: [Certificate] {
        isComplete && certificates.count > 1 ? Array(certificates.dropLast()) : certificates
    }

    /// Finds the chain of `leaf` among `candidates`, whose order and surplus do not matter.
    ///
    /// Every step is a real signature. Where several certificates fit (cross-signing, renewal), the one that is valid
    /// on `date` and expires last is taken, and the others are tried when it leads nowhere, or to a root that is not
    /// valid then.
    public static func order(leaf: Certificate, candidates: [Certificate], on date: Date = Date()) -> CertificateChain {
        var budget = 1000
        let found = extend([leaf], with: candidates, on: date, budget: &budget)
        return CertificateChain(certificates: found, isComplete: found.last?.isSelfSigned ?? false)
    }

    /// The longest completion of `chain`, a complete one if there is one. `budget` bounds the signature checks: many
    /// certificates of one name could otherwise make the search exponential.
    private static func extend(
        _ chain: [Certificate], with candidates: [Certificate], on date: Date, budget: inout Int
    ) -> [Certificate] {
        guard let last = chain.last, chain.count < 32, !last.isSelfSigned else { return chain }
        let issuer = last.issuer.canonical
        let named = candidates.filter { $0.subject.canonical == issuer && !chain.contains($0) }
            .sorted { ($0.isValid(on: date) ? 1 : 0, $0.notAfter) > ($1.isValid(on: date) ? 1 : 0, $1.notAfter) }
        var best = chain
        for candidate in named {
            guard budget > 0 else { break }
            budget -= 1
            guard last.isIssued(by: candidate) else { continue }
            let found = extend(chain + [candidate], with: candidates, on: date, budget: &budget)
            let rank = Self.rank(found, on: date)
            if rank == .valid { return found }
            if (rank, found.count) > (Self.rank(best, on: date), best.count) { best = found }
        }
        return best
    }

    private enum Rank: Int, Comparable {
        case incomplete, complete, valid

        static func < (left: Rank, right: Rank) -> Bool { left.rawValue < right.rawValue }
    }

    /// How much a chain is worth, whatever its leaf is: that one has no choice.
    private static func rank(_ chain: [Certificate], on date: Date) -> Rank {
        guard chain.last?.isSelfSigned == true else { return .incomplete }
        return chain.dropFirst().allSatisfy { $0.isValid(on: date) } ? .valid : .complete
    }
}

extension CertificateChain {
    /// What a chain is verified for; an open set over X509_PURPOSE_set(3).
    public struct Purpose: RawRepresentable, Hashable, Sendable {
        /// OpenSSL's number of the purpose.
        public let rawValue: Int32

        /// A purpose by OpenSSL's number.
        public init(rawValue: Int32) { self.rawValue = rawValue }

        /// No extended key usage is asked for.
        public static let any = Purpose(rawValue: X509_PURPOSE_ANY)
        /// A TLS server.
        public static let tlsServer = Purpose(rawValue: X509_PURPOSE_SSL_SERVER)
        /// A TLS client.
        public static let tlsClient = Purpose(rawValue: X509_PURPOSE_SSL_CLIENT)
        /// S/MIME signatures.
        public static let email = Purpose(rawValue: X509_PURPOSE_SMIME_SIGN)
        /// Time stamps.
        public static let timeStamping = Purpose(rawValue: X509_PURPOSE_TIMESTAMP_SIGN)
        /// Code signing. OpenSSL 3.0 does not know it; the leaf's extended key usage is compared by us.
        public static let codeSigning = Purpose(rawValue: -1)
    }

    /// Why a chain was not accepted; an open set over OpenSSL's X509_V_ERR numbers.
    public struct FailureCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// OpenSSL's number.
        public let rawValue: Int32

        /// A code by OpenSSL's number.
        public init(rawValue: Int32) { self.rawValue = rawValue }

        /// A certificate has expired.
        public static let expired = FailureCode(rawValue: X509_V_ERR_CERT_HAS_EXPIRED)
        /// A certificate is not valid yet.
        public static let notYetValid = FailureCode(rawValue: X509_V_ERR_CERT_NOT_YET_VALID)
        /// An issuer's certificate is missing.
        public static let issuerNotFound = FailureCode(rawValue: X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY)
        /// The issuer of the leaf is missing, and nothing else was there.
        public static let leafNotVerified = FailureCode(rawValue: X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE)
        /// The leaf signed itself and is not an anchor.
        public static let selfSigned = FailureCode(rawValue: X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT)
        /// The chain ends in a root that is not an anchor.
        public static let untrustedRoot = FailureCode(rawValue: X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN)
        /// A signature does not verify.
        public static let badSignature = FailureCode(rawValue: X509_V_ERR_CERT_SIGNATURE_FAILURE)
        /// The leaf is for another host.
        public static let hostMismatch = FailureCode(rawValue: X509_V_ERR_HOSTNAME_MISMATCH)
        /// The leaf is for another address.
        public static let addressMismatch = FailureCode(rawValue: X509_V_ERR_IP_ADDRESS_MISMATCH)
        /// A certificate is not for the purpose.
        public static let wrongPurpose = FailureCode(rawValue: X509_V_ERR_INVALID_PURPOSE)
        /// A certificate that signed another is no authority.
        public static let notAnAuthority = FailureCode(rawValue: X509_V_ERR_INVALID_CA)
        /// More authorities than a path length allows.
        public static let pathTooLong = FailureCode(rawValue: X509_V_ERR_PATH_LENGTH_EXCEEDED)
        /// A signature with a hash that is no longer safe, such as SHA-1.
        public static let weakSignature = FailureCode(rawValue: X509_V_ERR_CA_MD_TOO_WEAK)
        /// A key that is too small, of the leaf.
        public static let weakKey = FailureCode(rawValue: X509_V_ERR_EE_KEY_TOO_SMALL)
        /// A key that is too small, of an authority.
        public static let weakAuthorityKey = FailureCode(rawValue: X509_V_ERR_CA_KEY_TOO_SMALL)
        /// A name outside of those that an authority may issue for.
        public static let nameNotPermitted = FailureCode(rawValue: X509_V_ERR_PERMITTED_VIOLATION)
        /// A name that an authority may not issue for.
        public static let nameExcluded = FailureCode(rawValue: X509_V_ERR_EXCLUDED_VIOLATION)
        /// A critical extension that OpenSSL does not know.
        public static let unknownCriticalExtension = FailureCode(rawValue: X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION)

        /// OpenSSL's sentence for the number.
        public var description: String {
            guard let text = unsafe X509_verify_cert_error_string(Int(rawValue)) else { return "error \(rawValue)" }
            return unsafe String(cString: text)
        }
    }

    /// The first reason why a chain was not accepted.
    public struct Failure: Hashable, Sendable, CustomStringConvertible {
        /// Why.
        public let code: FailureCode
        /// Where: 0 is the leaf.
        public let depth: Int
        /// The certificate it is about, where there is one.
        public let certificate: Certificate?

        /// Reason and depth.
        public var description: String { "\(code) at depth \(depth)" }
    }

    /// What verification found.
    public enum VerificationResult: Hashable, Sendable {
        /// Accepted, with the chain up to the anchor.
        case trusted([Certificate])
        /// Not accepted.
        case rejected(Failure)

        /// The failure, or `nil` when the chain was accepted.
        public var failure: Failure? {
            guard case .rejected(let failure) = self else { return nil }
            return failure
        }
    }
}
