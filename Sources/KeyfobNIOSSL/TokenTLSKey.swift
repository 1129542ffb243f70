#if NIOSSL
public import Keyfob
import KeyfobPrimitives
public import NIOCore
public import NIOSSL
public import KeyfobOpenSSL

/// Called for every handshake that failed because the token could not sign, since swift-nio-ssl does not report the
/// reason.
///
/// Called on a signing thread, so it must return quickly.
public typealias SigningFailureHandler = @Sendable (KeychainError) -> Void

/// A private key on the token, for use in swift-nio-ssl's handshakes.
///
/// Signs on Keyfob's threads, never on an event loop, and offers only the algorithms that the token has proved with a
/// real signature. The key never leaves the token. One value serves any number of channels on any event loops.
///
/// Most programs should use ``TLSIdentity``, which includes the certificates.
public struct TokenTLSKey: NIOSSLCustomPrivateKey {
    /// The algorithms that the token has proved for this key, best first. Never empty.
    public let signatureAlgorithms: [SignatureAlgorithm]

    /// The public key.
    public var publicKey: PublicKey { signer.key.publicKey }

    private let signer: Signer
    /// Threads for signatures only: a handshake must not wait for an unlock or a search.
    let threads: SigningThreads

    /// Creates a key for swift-nio-ssl, after it has proved itself with signatures.
    ///
    /// Blocks for up to six signatures.
    ///
    /// - Throws: `KeychainError`; `mechanismUnsupported` if the token cannot make any TLS signature with the key,
    ///   `identityMismatch` if the token's key does not belong to the public key, `failed` if the system cannot start
    ///   signing threads, and the errors of `TokenKey.proven(_:)`.
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
                remedies: [
                    "TLS takes RSA, EC P-256, P-384, P-521 and Ed25519.",
                    Remedy("See what the token can do", .listMechanisms),
                ])
        }
        signer = Signer(key, onSigningFailure)
        threads = try SigningThreads.of(key)
    }

    /// Whether the key can serve TLS 1.3; RSA keys of tokens without RSA-PSS and without raw RSA cannot.
    public var supportsTLS13: Bool { signatureAlgorithms.contains { $0.servesTLS13(with: publicKey.algorithm) } }

    /// Signs a handshake on one of Keyfob's threads. Does not block.
    ///
    /// - Returns: A future. If the token fails, it fails with a `KeychainError`, and swift-nio-ssl fails the handshake
    ///   of this connection. If the channel is closed first, it fails with a `ChannelError`.
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

    /// Fails, because RSA key transport has no forward secrecy and is not offered.
    ///
    /// - Returns: A future that has failed with `mechanismUnsupported`.
    public func decrypt(channel: any Channel, data: ByteBuffer) -> EventLoopFuture<ByteBuffer> {
        channel.eventLoop.makeFailedFuture(
            KeychainError(.mechanismUnsupported, "RSA key transport is not offered with keys on a token."))
    }

    /// Makes signatures. An object, so that an event loop that queues a signature copies one reference rather than the
    /// key and its description.
    private final class Signer: Sendable {
        let key: TokenKey
        let onSigningFailure: SigningFailureHandler?
        /// The maximum length of the key's signatures.
        let signatureSize: Int

        init(_ key: TokenKey, _ onSigningFailure: SigningFailureHandler?) {
            self.key = key
            self.onSigningFailure = onSigningFailure
            // The longest other signature is that of P-521, in DER.
            signatureSize = if case .rsa(let bits) = key.publicKey.algorithm { (bits + 7) / 8 } else { 139 }
        }

        /// Makes a signature and completes the handshake's future. Blocks.
        func make(_ signature: PendingSignature, using scheme: SignatureScheme) {
            guard !signature.isAbandoned else { return }
            do {
                signature.settle(.success(try key.sign([UInt8](signature.message.readableBytesView), using: scheme)))
                // Begin after answering, while no handshake waits; the next one is then answered sooner.
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
    /// Whether both have the same public key and offer the same algorithms.
    public static func == (left: Self, right: Self) -> Bool {
        left.publicKey == right.publicKey && left.signatureAlgorithms == right.signatureAlgorithms
    }

    /// Hashes the public key.
    public func hash(into hasher: inout Hasher) { hasher.combine(publicKey) }
}
#endif
