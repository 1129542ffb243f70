#if NIOSSL
public import Keyfob
import KeyfobPrimitives
public import NIOCore
public import NIOSSL
public import OpenSSL

/// Told of every handshake that failed because the token could not sign; swift-nio-ssl itself keeps the reason.
///
/// Called on a signing thread: it must return soon.
public typealias SigningFailureHandler = @Sendable (KeychainError) -> Void

/// A private key on the token, as swift-nio-ssl's handshakes use it.
///
/// Signs on threads of Keyfob's own, never on an event loop, and offers only the algorithms that the token has proved
/// with a real signature. The key never leaves the token. One value serves any number of channels on any event loops.
///
/// Most programs want ``TLSIdentity``, which brings the certificates along.
public struct TokenTLSKey: NIOSSLCustomPrivateKey {
    /// The algorithms that the token has proved for this key, best first. Never empty.
    public let signatureAlgorithms: [SignatureAlgorithm]

    /// The public key.
    public var publicKey: PublicKey { signer.key.publicKey }

    private let signer: Signer
    /// Threads for signatures alone: a handshake must not wait behind an unlocking or a search.
    let threads: SigningThreads

    /// Proves the key and dresses it for swift-nio-ssl.
    ///
    /// Blocks for up to six signatures.
    ///
    /// - Throws: `KeychainError`; `mechanismUnsupported` where the token can make no signature that TLS knows with it,
    ///   `identityMismatch` where the token's key is not the public key's, `failed` where there are no threads to sign
    ///   on, and the errors of `TokenKey.proven(_:)`.
    @available(*, noasync, message: "use TLSIdentity.load, or a thread of your own")
    public init(_ key: TokenKey) throws {
        try self.init(key, onSigningFailure: nil)
    }

    init(_ key: TokenKey, onSigningFailure: SigningFailureHandler?) throws {
        let candidates = SignatureAlgorithm.candidates(for: key.publicKey.algorithm)
        let proven = try key.proven(candidates.compactMap(\.scheme))
        signatureAlgorithms = candidates.filter { $0.scheme.map { proven.contains($0) } ?? false }
        guard !signatureAlgorithms.isEmpty else {
            throw KeychainError(
                .mechanismUnsupported,
                "the token can make no signature that TLS knows with this key (\(key.publicKey.algorithm)).",
                hint: "TLS takes RSA, EC P-256, P-384, P-521 and Ed25519. "
                    + "What the token can do: keyfob token mechanisms")
        }
        signer = Signer(key, onSigningFailure)
        threads = try SigningThreads.of(key)
    }

    /// Whether the key can serve TLS 1.3; RSA keys of tokens without RSA-PSS and without raw RSA cannot.
    public var supportsTLS13: Bool { signatureAlgorithms.contains { $0.servesTLS13(with: publicKey.algorithm) } }

    /// Signs a handshake on a thread of Keyfob's own. Does not block.
    ///
    /// - Returns: A future that fails with the `KeychainError` of the token; swift-nio-ssl turns it into a failed
    ///   handshake of this one connection. Where the channel is closed first, it fails then, with a `ChannelError`.
    public func sign(
        channel: any Channel, algorithm: SignatureAlgorithm, data: ByteBuffer
    ) -> EventLoopFuture<ByteBuffer> {
        guard let scheme = algorithm.scheme, signatureAlgorithms.contains(algorithm) else {
            return channel.eventLoop.makeFailedFuture(
                KeychainError(.mechanismUnsupported, "the key does not sign with TLS algorithm \(algorithm)."))
        }
        let signature = PendingSignature(of: data, size: signer.signatureSize, for: channel)
        threads.start { [signer] in signer.make(signature, using: scheme) }
        return signature.future
    }

    /// Refuses: RSA key transport has no forward secrecy and is not offered.
    ///
    /// - Returns: A future that has failed with `mechanismUnsupported`.
    public func decrypt(channel: any Channel, data: ByteBuffer) -> EventLoopFuture<ByteBuffer> {
        channel.eventLoop.makeFailedFuture(
            KeychainError(.mechanismUnsupported, "RSA key transport is not offered with keys on a token."))
    }

    /// What makes signatures: one object, so that an event loop which hands over a signature copies a reference and not
    /// the key with all that describes it.
    private final class Signer: Sendable {
        let key: TokenKey
        let onSigningFailure: SigningFailureHandler?
        /// How long the key's signatures become, at most.
        let signatureSize: Int

        init(_ key: TokenKey, _ onSigningFailure: SigningFailureHandler?) {
            self.key = key
            self.onSigningFailure = onSigningFailure
            // The longest of the others is that of P-521, in DER.
            signatureSize = if case .rsa(let bits) = key.publicKey.algorithm { (bits + 7) / 8 } else { 139 }
        }

        /// Makes a signature, and answers the handshake. Blocks.
        func make(_ signature: PendingSignature, using scheme: SignatureScheme) {
            guard !signature.isAbandoned else { return }
            do {
                signature.settle(.success(try key.sign([UInt8](signature.message.readableBytesView), using: scheme)))
                // While nobody waits: the next handshake is answered so much sooner.
                key.beginNextSignature(using: scheme)
            } catch {
                let error = (error as? KeychainError)
                    ?? KeychainError(.failed, "the token could not sign a handshake.", cause: error)
                onSigningFailure?(error)
                signature.settle(.failure(error))
            }
        }
    }
}

extension TokenTLSKey: Hashable {
    /// Whether both are for the same public key and offer the same.
    public static func == (left: Self, right: Self) -> Bool {
        left.publicKey == right.publicKey && left.signatureAlgorithms == right.signatureAlgorithms
    }

    /// Hashes the public key.
    public func hash(into hasher: inout Hasher) { hasher.combine(publicKey) }
}
#endif
