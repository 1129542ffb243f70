import COpenSSL
public import Foundation

/// A leaf and its issuers, each certificate signed by the next.
public struct CertificateChain: Hashable, Sendable {
    /// The certificates, leaf first; the root is last if it was among the candidates.
    public let certificates: [Certificate]
    /// Whether the last certificate is self-signed, so that the chain is complete.
    public let isComplete: Bool

    /// The chain without its root, as a TLS server sends it: the leaf and the intermediates in order.
    public var withoutRoot: [Certificate] {
        isComplete && certificates.count > 1 ? Array(certificates.dropLast()) : certificates
    }

    /// Builds the chain of `leaf` from `candidates`, which may be in any order and include other certificates.
    ///
    /// Every signature is verified. If several certificates fit (cross-signing, renewal), the one that is valid on
    /// `date` and expires last is preferred. The others are tried if it leads to no root, or to a root that is not
    /// valid then.
    public static func order(leaf: Certificate, candidates: [Certificate], on date: Date = Date()) -> CertificateChain {
        var budget = 1000
        let found = extend([leaf], with: candidates, on: date, budget: &budget)
        return CertificateChain(certificates: found, isComplete: found.last?.isSelfSigned ?? false)
    }

    /// Returns the best completion of `chain`: a complete one if possible, else the longest.
    ///
    /// `budget` limits the signature checks, because many certificates with one name could make the search exponential.
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

    /// Returns the rank of a chain. The leaf is ignored, because there is no alternative to it.
    private static func rank(_ chain: [Certificate], on date: Date) -> Rank {
        guard chain.last?.isSelfSigned == true else { return .incomplete }
        return chain.dropFirst().allSatisfy { $0.isValid(on: date) } ? .valid : .complete
    }
}

extension CertificateChain {
    /// The purpose that a chain is verified for; an open set over X509_PURPOSE_set(3).
    public struct Purpose: RawRepresentable, Hashable, Sendable {
        /// OpenSSL's number of the purpose.
        public let rawValue: Int32

        /// Creates a purpose from OpenSSL's number.
        public init(rawValue: Int32) { self.rawValue = rawValue }

        /// No extended key usage is required.
        public static let any = Purpose(rawValue: X509_PURPOSE_ANY)
        /// A TLS server.
        public static let tlsServer = Purpose(rawValue: X509_PURPOSE_SSL_SERVER)
        /// A TLS client.
        public static let tlsClient = Purpose(rawValue: X509_PURPOSE_SSL_CLIENT)
        /// S/MIME signatures.
        public static let email = Purpose(rawValue: X509_PURPOSE_SMIME_SIGN)
        /// Time stamps.
        public static let timeStamping = Purpose(rawValue: X509_PURPOSE_TIMESTAMP_SIGN)
        /// Code signing. OpenSSL 3.0 does not support it; this library compares the leaf's extended key usage.
        public static let codeSigning = Purpose(rawValue: -1)
    }

    /// Why a chain was rejected; an open set over OpenSSL's X509_V_ERR numbers.
    public struct FailureCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// OpenSSL's number.
        public let rawValue: Int32

        /// Creates a code from OpenSSL's number.
        public init(rawValue: Int32) { self.rawValue = rawValue }

        /// A certificate has expired.
        public static let expired = FailureCode(rawValue: X509_V_ERR_CERT_HAS_EXPIRED)
        /// A certificate is not valid yet.
        public static let notYetValid = FailureCode(rawValue: X509_V_ERR_CERT_NOT_YET_VALID)
        /// An issuer's certificate is missing.
        public static let issuerNotFound = FailureCode(rawValue: X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY)
        /// The issuer of the leaf is missing, and the chain has no other certificate.
        public static let leafNotVerified = FailureCode(rawValue: X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE)
        /// The leaf is self-signed and not an anchor.
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
        /// A certificate that signed another is not an authority.
        public static let notAnAuthority = FailureCode(rawValue: X509_V_ERR_INVALID_CA)
        /// The chain has more authorities than a path length allows.
        public static let pathTooLong = FailureCode(rawValue: X509_V_ERR_PATH_LENGTH_EXCEEDED)
        /// A signature uses a weak hash, such as SHA-1.
        public static let weakSignature = FailureCode(rawValue: X509_V_ERR_CA_MD_TOO_WEAK)
        /// The leaf's key is too small.
        public static let weakKey = FailureCode(rawValue: X509_V_ERR_EE_KEY_TOO_SMALL)
        /// An authority's key is too small.
        public static let weakAuthorityKey = FailureCode(rawValue: X509_V_ERR_CA_KEY_TOO_SMALL)
        /// A name is not among those that an authority may issue for.
        public static let nameNotPermitted = FailureCode(rawValue: X509_V_ERR_PERMITTED_VIOLATION)
        /// A name is among those that an authority may not issue for.
        public static let nameExcluded = FailureCode(rawValue: X509_V_ERR_EXCLUDED_VIOLATION)
        /// OpenSSL does not know a critical extension.
        public static let unknownCriticalExtension = FailureCode(rawValue: X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION)

        /// OpenSSL's description of the number.
        public var description: String {
            guard let text = unsafe X509_verify_cert_error_string(Int(rawValue)) else { return "error \(rawValue)" }
            return unsafe String(cString: text)
        }
    }

    /// The first reason why a chain was rejected.
    public struct Failure: Hashable, Sendable, CustomStringConvertible {
        /// The reason.
        public let code: FailureCode
        /// The index of the certificate in the chain; 0 is the leaf.
        public let depth: Int
        /// The certificate that failed, if there is one.
        public let certificate: Certificate?

        /// The reason and depth.
        public var description: String { "\(code) at depth \(depth)" }
    }

    /// The result of a verification.
    public enum VerificationResult: Hashable, Sendable {
        /// Accepted, with the chain up to the anchor.
        case trusted([Certificate])
        /// Not accepted.
        case rejected(Failure)

        /// The failure; `nil` if the chain was accepted.
        public var failure: Failure? {
            guard case .rejected(let failure) = self else { return nil }
            return failure
        }
    }
}
