public import Foundation
public import KeyfobOpenSSL

/// The anchors to trust when a certificate is verified.
public struct TrustPolicy: Sendable {
    /// Whether the system's trusted authorities are anchors.
    public var includesSystem: Bool
    /// Whether the keychain's trusted certificates are anchors.
    public var includesKeychain: Bool
    /// Further anchors.
    public var anchors: [Certificate]

    /// Trusts the anchors of the system, those of the keychain, and `anchors`.
    public init(includesSystem: Bool = true, includesKeychain: Bool = true, anchors: [Certificate] = []) {
        self.includesSystem = includesSystem
        self.includesKeychain = includesKeychain
        self.anchors = anchors
    }

    /// Trusts only `anchors`.
    public static func only(_ anchors: [Certificate]) -> TrustPolicy {
        TrustPolicy(includesSystem: false, includesKeychain: false, anchors: anchors)
    }
}

/// The result of verifying a certificate.
public struct CertificateVerification: Sendable {
    /// The source of an anchor.
    public enum Origin: String, Sendable, Hashable {
        /// The system trusts it.
        case system
        /// The keychain trusts it.
        case keychain
        /// The caller trusts it.
        case given
    }

    /// The certificate.
    public let certificate: Certificate
    /// The trusted chain up to the anchor, or the first failure with the certificate that caused it.
    public let result: CertificateChain.VerificationResult
    /// The chain as far as certificates are known, leaf first; up to the anchor if the certificate is trusted.
    public let chain: [Certificate]
    /// The source of the anchor; `nil` if the certificate is not trusted.
    public let origin: Origin?
    /// The date for which it was verified.
    public let date: Date
    /// The host for which it was verified.
    public let host: String?
    /// The usage for which it was verified.
    public let usage: CertificateUsage

    /// Whether the certificate is trusted.
    public var isTrusted: Bool { result.failure == nil }
}

extension CertificateVerification {
    /// Verifies a certificate like `Keychain.verify`, without a keychain.
    ///
    /// - Parameter own: The anchors of a keychain, if `policy` includes them.
    /// - Throws: `KeychainError`; `invalidArgument` for an unknown usage, `fileUnavailable` if the system's bundle
    ///   cannot be read.
    package init(
        verifying certificate: Certificate, intermediates: [Certificate], on date: Date, host: String?,
        usage: CertificateUsage, trusting policy: TrustPolicy, own: [Certificate] = []
    ) throws {
        let purpose = try usage.requiredPurpose()
        let system = policy.includesSystem ? try SystemRoots.known() : []
        let result = try CertificateChain.verify(
            leaf: certificate, intermediates: intermediates, anchors: policy.anchors + own + system, on: date,
            host: host, purpose: purpose)
        var origin: Origin?
        var chain: [Certificate]
        switch result {
        case .trusted(let trusted):
            // libcrypto continues above an anchor that is not self-signed; those certificates are not the source of
            // trust.
            chain = trusted
            for (index, certificate) in trusted.enumerated() {
                origin =
                    policy.anchors.contains(certificate)
                    ? .given : own.contains(certificate) ? .keychain : system.contains(certificate) ? .system : nil
                guard origin != nil else { continue }
                chain = Array(trusted[...index])
                break
            }
        case .rejected:
            chain = CertificateChain.order(leaf: certificate, candidates: intermediates + system, on: date).certificates
        }
        self.init(
            certificate: certificate, result: result, chain: chain, origin: origin, date: date, host: host,
            usage: usage)
    }
}

extension CertificateUsage {
    /// The purpose for which a chain is verified.
    ///
    /// - Throws: `KeychainError` with code `invalidArgument` for an unknown usage.
    fileprivate func requiredPurpose() throws -> CertificateChain.Purpose {
        guard let purpose else {
            throw KeychainError(
                .invalidArgument, "\"\(self)\" is not a usage of certificates.",
                hint: "One of: " + Self.known.map(\.rawValue).joined(separator: ", "))
        }
        return purpose
    }
}

extension KeychainCertificates {
    /// Verifies a certificate up to an anchor (RFC 5280 6.1), without revocation and without the network.
    ///
    /// Blocks; about 10 ms if the system's authorities must be read. Certificates of the keychain complete the chain.
    ///
    /// - Parameters:
    ///   - intermediates: Further certificates for the chain, such as those in a file.
    ///   - host: A DNS name or address that the certificate must have.
    ///   - usage: The usage that the certificate must allow.
    /// - Returns: The verification; an untrusted certificate is a result, not an error.
    /// - Throws: `KeychainError`; `invalidArgument` for an unknown usage, the errors of `unlock()` if the keychain's
    ///   anchors are needed, and the errors of reading the token, the vault or the system's bundle.
    @available(*, noasync, message: "use the asynchronous form")
    public func verify(
        _ certificate: Certificate, intermediates: [Certificate] = [], on date: Date = Date(), host: String? = nil,
        usage: CertificateUsage = .any, trusting policy: TrustPolicy = TrustPolicy()
    ) throws -> CertificateVerification {
        try keychain.withDeadline { [self] in
            _ = try usage.requiredPurpose()
            let own = policy.includesKeychain ? try keychain.trust.anchors(for: usage).map(\.certificate) : []
            return try CertificateVerification(
                verifying: certificate, intermediates: knownCertificates() + intermediates, on: date, host: host,
                usage: usage, trusting: policy, own: own)
        }
    }

    /// The chain of a certificate as far as the keychain's certificates and `further` ones reach, leaf first.
    ///
    /// - Throws: `KeychainError` if the token or the vault cannot be read.
    @available(*, noasync, message: "use the asynchronous form")
    public func chain(of certificate: Certificate, with further: [Certificate]) throws -> CertificateChain {
        try keychain.withDeadline { [self] in
            CertificateChain.order(leaf: certificate, candidates: try knownCertificates() + further)
        }
    }

    /// The certificates of the matching items if the keychain is unlocked or can be without asking the user; otherwise
    /// none.
    ///
    /// - Throws: `KeychainError`; the errors of `findItems(_:)` and of unlocking.
    package func certificatesIfUnlocked(_ criteria: Criteria) throws -> [Certificate] {
        guard try keychain.keysIfUnlocked() != nil else { return [] }
        return Self.certificates(of: try keychain.findItems(criteria))
    }

    private func knownCertificates() throws -> [Certificate] {
        var all = Criteria(.certificate)
        all.includesSynchronizable = true
        return Self.certificates(of: try keychain.tokenItems.findOnToken(all))
    }

    private static func certificates(of items: [Item]) -> [Certificate] {
        // Skip an item of the certificate class that does not hold a certificate.
        items.compactMap { $0.certificateDER == nil ? nil : try? $0.certificate }
    }

    /// Verifies a certificate.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func verify(
        _ certificate: Certificate, intermediates: [Certificate] = [], on date: Date = Date(), host: String? = nil,
        usage: CertificateUsage = .any, trusting policy: TrustPolicy = TrustPolicy()
    ) async throws -> CertificateVerification {
        try await keychain.run {
            try self.verify(
                certificate, intermediates: intermediates, on: date, host: host, usage: usage, trusting: policy)
        }
    }
}
