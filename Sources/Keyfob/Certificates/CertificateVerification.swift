public import Foundation
public import OpenSSL

/// Whom to trust when a certificate is verified.
public struct TrustPolicy: Sendable {
    /// Whether the authorities that the system trusts are anchors.
    public var includesSystem: Bool
    /// Whether the keychain's anchors are.
    public var includesKeychain: Bool
    /// Further anchors.
    public var anchors: [Certificate]

    /// Whom the system and the keychain trust, and `anchors`.
    public init(includesSystem: Bool = true, includesKeychain: Bool = true, anchors: [Certificate] = []) {
        self.includesSystem = includesSystem
        self.includesKeychain = includesKeychain
        self.anchors = anchors
    }

    /// `anchors` and nobody else.
    public static func only(_ anchors: [Certificate]) -> TrustPolicy {
        TrustPolicy(includesSystem: false, includesKeychain: false, anchors: anchors)
    }
}

/// What verifying a certificate found.
public struct CertificateVerification: Sendable {
    /// Where an anchor comes from.
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
    /// Accepted with the chain up to the anchor, or the first reason against it with the certificate that it is about.
    public let result: CertificateChain.VerificationResult
    /// The chain as far as certificates are known, leaf first; the one up to the anchor where it was accepted.
    public let chain: [Certificate]
    /// Where the anchor comes from; `nil` where the certificate was not accepted.
    public let origin: Origin?
    /// When it was verified for.
    public let date: Date
    /// The host it was verified for.
    public let host: String?
    /// The usage it was verified for.
    public let usage: CertificateUsage

    /// Whether it was accepted.
    public var isTrusted: Bool { result.failure == nil }
}

extension CertificateVerification {
    /// Verifies a certificate as `Keychain.verify` does, where no keychain need be there.
    ///
    /// - Parameter own: The anchors of a keychain, of those that `policy` includes.
    /// - Throws: As `Keychain.verify` where it reads no keychain.
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
            // libcrypto goes on above an anchor that did not sign itself; what stands there made nobody trust anything.
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
    /// What a chain is verified for.
    ///
    /// - Throws: `KeychainError` with code `invalidArgument` for a usage that is not known.
    fileprivate func requiredPurpose() throws -> CertificateChain.Purpose {
        guard let purpose else {
            throw KeychainError(
                .invalidArgument, "\"\(self)\" is no usage of certificates.",
                hint: "One of: " + Self.known.map(\.rawValue).joined(separator: ", "))
        }
        return purpose
    }
}

extension Keychain {
    /// Verifies a certificate up to an anchor (RFC 5280 6.1), without revocation and without the network.
    ///
    /// Blocks, some 10 ms where the system's authorities have to be read. Certificates of the keychain complete the
    /// chain.
    ///
    /// - Parameters:
    ///   - intermediates: Further certificates that may stand in the chain, such as those of a file.
    ///   - host: A DNS name or an address that the certificate must be for.
    ///   - usage: What it must be for.
    /// - Returns: What was found; a certificate that is not accepted is a result, not an error.
    /// - Throws: `KeychainError`; `invalidArgument` for a usage that is not known, the errors of `unlock()` where the
    ///   keychain's anchors are asked for, and where token, vault or the system's bundle cannot be read.
    @available(*, noasync, message: "use the asynchronous form")
    public func verify(
        _ certificate: Certificate, intermediates: [Certificate] = [], on date: Date = Date(), host: String? = nil,
        usage: CertificateUsage = .any, trusting policy: TrustPolicy = TrustPolicy()
    ) throws -> CertificateVerification {
        _ = try usage.requiredPurpose()
        let own = policy.includesKeychain ? try trustAnchors(for: usage).map(\.certificate) : []
        return try CertificateVerification(
            verifying: certificate, intermediates: knownCertificates() + intermediates, on: date, host: host,
            usage: usage, trusting: policy, own: own)
    }

    /// The chain of a certificate as far as the certificates of the keychain and `further` ones reach, leaf first.
    ///
    /// - Throws: `KeychainError` where the token or the vault cannot be read.
    @available(*, noasync, message: "use the asynchronous form")
    public func chain(of certificate: Certificate, with further: [Certificate]) throws -> CertificateChain {
        CertificateChain.order(leaf: certificate, candidates: try knownCertificates() + further)
    }

    /// The certificates of the items that match, where the keychain is open or opens without asking anybody; else none.
    ///
    /// - Throws: `KeychainError`; as `findItems(_:)`, and where unlocking fails.
    package func certificatesIfUnlocked(_ criteria: Criteria) throws -> [Certificate] {
        guard try keysIfUnlocked() != nil else { return [] }
        return Self.certificates(of: try findItems(criteria))
    }

    private func knownCertificates() throws -> [Certificate] {
        var all = Criteria(.certificate)
        all.includesSynchronizable = true
        return Self.certificates(of: try findOnToken(all))
    }

    private static func certificates(of items: [Item]) -> [Certificate] {
        // An item that is called a certificate and is none is nobody's issuer.
        items.compactMap { $0.certificateDER == nil ? nil : try? $0.certificate }
    }

    /// Verifies a certificate. - Throws: As the blocking form.
    public func verify(
        _ certificate: Certificate, intermediates: [Certificate] = [], on date: Date = Date(), host: String? = nil,
        usage: CertificateUsage = .any, trusting policy: TrustPolicy = TrustPolicy()
    ) async throws -> CertificateVerification {
        try await run {
            try self.verify(
                certificate, intermediates: intermediates, on: date, host: host, usage: usage, trusting: policy)
        }
    }
}
