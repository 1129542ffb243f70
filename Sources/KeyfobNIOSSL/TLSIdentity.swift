#if NIOSSL
import Foundation
public import Keyfob
import KeyfobPrimitives
public import NIOSSL
public import OpenSSL

/// A certificate with its chain, and its private key on the token, ready for swift-nio-ssl.
///
/// ```swift
/// let identity = try await TLSIdentity.load(.identities.host("www.example.org"), in: keychain)
/// let context = try NIOSSLContext(configuration: identity.serverConfiguration())
/// ```
///
/// A value does not change: a renewed certificate is another value. ``RotatingTLSIdentity`` follows a name.
public struct TLSIdentity: Sendable {
    /// What the keychain knows of it.
    public let item: Identity
    /// The certificate of the key.
    public let certificate: OpenSSL.Certificate
    /// The certificate and those above it, without a root and without a cross-signed end that has expired: what is sent
    /// to the peer.
    public let chain: [OpenSSL.Certificate]
    /// The private key.
    public let key: TokenTLSKey

    /// The chain in swift-nio-ssl's form.
    public let certificateChain: [NIOSSLCertificateSource]
    /// The key in swift-nio-ssl's form.
    public let privateKey: NIOSSLPrivateKeySource

    /// Finds an identity by label, host name or reference, checks that it can serve, and has its key prove itself.
    ///
    /// Of several versions of one identity the one that bears the name is taken, not those labelled `name@date`; of
    /// those with the same label, or the same subject and names, the valid one that began last. Runs on threads of
    /// Keyfob's own: one search, the order of the chain, and up to six signatures.
    ///
    /// - Parameters:
    ///   - query: Such as `.identity(label: "web")` or `.identities.host("www.example.org")`.
    ///   - requirements: What it must be good for; without, a server's.
    ///   - onSigningFailure: Told when the token fails to sign a handshake later on.
    /// - Throws: `KeychainError`; `itemNotFound`, `ambiguous` for identities that are not versions of each other,
    ///   `certificateExpired` and `certificateNotYetValid` for the certificate or one above it,
    ///   `certificateHostMismatch`, `certificateUsageMismatch`,
    ///   `chainIncomplete`, `identityMismatch`, `mechanismUnsupported`, and the errors of `unlock()`.
    public static func load(
        _ query: Query<Identity>, in keychain: Keychain, requirements: TLSRequirements = .server,
        onSigningFailure: SigningFailureHandler? = nil
    ) async throws -> TLSIdentity {
        try await BlockingExecutor.shared.run {
            try TLSIdentity(query, in: keychain, requirements: requirements, onSigningFailure: onSigningFailure)
        }
    }

    /// The blocking form of `load(_:in:requirements:)`, for programs that have no tasks yet. - Throws: As that.
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
        let found = try keychain.chain(of: certificate)
        try requirements.check(candidate, chain: found)
        chain = requirements.presented(found)
        do {
            key = try TokenTLSKey(keychain.tokenKey(for: candidate.item), onSigningFailure: onSigningFailure)
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
