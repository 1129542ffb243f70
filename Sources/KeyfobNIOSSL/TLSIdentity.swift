#if NIOSSL
import Foundation
public import Keyfob
import KeyfobPrimitives
public import NIOSSL
public import KeyfobOpenSSL

/// A certificate with its chain, and its private key on the token, ready for swift-nio-ssl.
///
/// ```swift
/// let identity = try await TLSIdentity.load(.identities.host("www.example.org"), in: keychain)
/// let context = try NIOSSLContext(configuration: identity.serverConfiguration())
/// ```
///
/// The value does not change: a renewed certificate is another value. ``RotatingTLSIdentity`` follows a name.
public struct TLSIdentity: Sendable {
    /// The identity in the keychain.
    public let item: Identity
    /// The certificate.
    public let certificate: KeyfobOpenSSL.Certificate
    /// The certificates that are sent to the peer: the certificate and its issuers, without a root and without an
    /// expired cross-signed end.
    public let chain: [KeyfobOpenSSL.Certificate]
    /// The private key.
    public let key: TokenTLSKey

    /// The chain in swift-nio-ssl's format.
    public let certificateChain: [NIOSSLCertificateSource]
    /// The key in swift-nio-ssl's format.
    public let privateKey: NIOSSLPrivateKeySource

    /// Finds an identity by label, host name or reference, checks that it can serve, and makes its key prove itself.
    ///
    /// If there are several versions of one identity, the one with the plain name is used, not those labelled
    /// `name@date`. Among those with the same label, or the same subject and names, the valid one that began last is
    /// used. Runs on Keyfob's threads: one search, the ordering of the chain, and up to six signatures.
    ///
    /// - Parameters:
    ///   - query: Such as `.identity(label: "web")` or `.identities.host("www.example.org")`.
    ///   - keychain: The keychain to search.
    ///   - requirements: The requirements that the identity must meet; a server's by default.
    ///   - onSigningFailure: Called when the token later fails to sign a handshake.
    /// - Throws: `KeychainError`; `itemNotFound`, `ambiguous` for identities that are not versions of each other,
    ///   `certificateExpired` and `certificateNotYetValid` for the certificate or one of its issuers,
    ///   `certificateHostMismatch`, `certificateUsageMismatch`, `chainIncomplete`, `identityMismatch`,
    ///   `mechanismUnsupported`, and the errors of `unlock()`.
    public static func load(
        _ query: Query<Identity>, in keychain: Keychain, requirements: TLSRequirements = .server,
        onSigningFailure: SigningFailureHandler? = nil
    ) async throws -> TLSIdentity {
        try await BlockingExecutor.shared.run {
            try TLSIdentity(query, in: keychain, requirements: requirements, onSigningFailure: onSigningFailure)
        }
    }

    /// The blocking form of ``load(_:in:requirements:onSigningFailure:)``, for programs without tasks.
    ///
    /// - Throws: `KeychainError`; `itemNotFound`, `ambiguous`, `certificateExpired`, `certificateNotYetValid`,
    ///   `certificateHostMismatch`, `certificateUsageMismatch`, `chainIncomplete`, `identityMismatch`,
    ///   `mechanismUnsupported`, and the errors of `unlock()`.
    @available(*, noasync, message: "use load(_:in:requirements:)")
    public init(
        _ query: Query<Identity>, in keychain: Keychain, requirements: TLSRequirements = .server,
        onSigningFailure: SigningFailureHandler? = nil
    ) throws {
        try self.init(
            TLSCandidate.choose(query, in: keychain, on: requirements.date()), in: keychain,
            requirements: requirements, onSigningFailure: onSigningFailure)
    }

    init(
        _ candidate: TLSCandidate, in keychain: Keychain, requirements: TLSRequirements,
        onSigningFailure: SigningFailureHandler?
    ) throws {
        item = candidate.item
        certificate = candidate.certificate
        let found = try keychain.certificates.chain(of: certificate)
        try requirements.check(candidate, chain: found)
        chain = requirements.presented(found)
        do {
            key = try TokenTLSKey(keychain.keys.tokenKey(for: candidate.item), onSigningFailure: onSigningFailure)
            if requirements.requiresTLS13, !key.supportsTLS13 { throw KeychainError.noTLS13(candidate.name, key) }
            certificateChain = try chain.map {
                .certificate(try NIOSSLCertificate(bytes: [UInt8]($0.der), format: .der))
            }
        } catch let error as KeychainError where error.code == .identityMismatch {
            throw KeychainError.mismatch(candidate.name, error)
        } catch let error as NIOSSLError {
            throw KeychainError(
                .unsupportedFormat, "swift-nio-ssl cannot read the chain of \"\(candidate.name)\".", cause: error)
        }
        privateKey = .privateKey(NIOSSLPrivateKey(customPrivateKey: key))
    }
}
#endif
