import Foundation
public import KeyfobPrimitives
public import OpenSSL
import PKCS11

/// A private key on the token, ready to be used.
///
/// ```swift
/// let key = try keychain.tokenKey(for: identity.key)
/// let signature = try key.sign(message, using: .ecdsa(.sha256))
/// ```
///
/// One value serves any number of threads: each call takes a session of the keychain's pool. Calls block;
/// the asynchronous forms run on threads of Keyfob's own. The handle is found once and kept until the login
/// changes. On tokens that may give a handle to another key every signature is verified before it is returned.
public struct TokenKey: Sendable {
    /// The public key.
    public let publicKey: PublicKey
    private let keychain: Keychain
    let object: TokenObject
    private let handle = TokenStore.KnownHandle(nil)

    init(keychain: Keychain, object: TokenObject, publicKey: PublicKey) {
        self.keychain = keychain
        self.object = object
        self.publicKey = publicKey
    }

    /// Signs a message; it is hashed here, and the token sees the digest.
    ///
    /// - Returns: The signature in the form that X.509 and TLS use: DER for ECDSA, the plain value otherwise.
    /// - Throws: `KeychainError`; `mechanismUnsupported` where key or token cannot do `scheme`, `itemNotFound`
    ///   where the key is gone, `tokenDisobeyed` where the signature is not the key's, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func sign(_ message: [UInt8], using scheme: SignatureScheme) throws -> [UInt8] {
        guard let digest = scheme.digest else { return try signDigest(message, using: scheme) }
        return try signDigest([UInt8](digest(message)), using: scheme)
    }

    /// Signs a digest that the caller made. - Throws: As `sign(_:using:)`; `invalidArgument` for a wrong length.
    public func signDigest(_ digest: [UInt8], using scheme: SignatureScheme) throws -> [UInt8] {
        if let expected = scheme.digest?.count, digest.count != expected {
            throw KeychainError(
                .invalidArgument, "a \(scheme) signature needs a digest of \(expected) bytes, not \(digest.count).")
        }
        guard let (mechanism, input) = Self.mechanism(scheme, publicKey.algorithm, digest) else {
            throw KeychainError(
                .mechanismUnsupported, "a key of type \(publicKey.algorithm) cannot sign with \(scheme).")
        }
        try keychain.unlockIfLocked()
        let token = keychain.token
        func made() throws -> [UInt8] {
            let signature = try token.withSession(.sign) { session in
                try session.sign(input, with: token.handle(of: object, known: handle, in: session), using: mechanism)
            }
            guard case .ec = publicKey.algorithm else { return signature }
            return try ECDSASignature(raw: signature).der
        }
        let signature = try made()
        guard try !token.keepsHandles(), try !publicKey.verify(signature, ofDigest: digest, using: scheme) else {
            return signature
        }
        // The handle has become another key's: once more, with the handle that the key has now.
        token.forgetHandles()
        let second = try made()
        guard try publicKey.verify(second, ofDigest: digest, using: scheme) else {
            throw KeychainError(
                .tokenDisobeyed,
                "token \"\(token.label)\" made a signature that the key's public half does not verify.",
                hint: "Look at the key: keyfob identity check")
        }
        return second
    }

    /// Decrypts with RSA-OAEP (RFC 8017 7.1). - Throws: `KeychainError`; `mechanismUnsupported` where the token
    /// does not have the hash.
    @available(*, noasync, message: "use the asynchronous form")
    public func decryptOAEP(_ ciphertext: [UInt8], hash: Digest) throws -> SecretBytes {
        guard let algorithm = HashAlgorithm(hash) else {
            throw KeychainError(.mechanismUnsupported, "OAEP with \(hash) is not known.")
        }
        _ = try keychain.keys()
        return try keychain.token.withSession(.decrypt) { session in
            let token = keychain.token
            let handle = try token.keepsHandles()
                ? token.handle(of: object, in: session) : token.verifiedHandle(of: object, in: session)
            return try session.decryptSecret(ciphertext, with: handle, using: .rsaOAEP(hash: algorithm))
        }
    }

    /// Signs a message on a thread of Keyfob's own. - Throws: As the blocking form.
    public func sign(_ message: [UInt8], using scheme: SignatureScheme) async throws -> [UInt8] {
        try await BlockingExecutor.shared.run { try self.sign(message, using: scheme) }
    }

    private static func mechanism(
        _ scheme: SignatureScheme, _ algorithm: KeyAlgorithm, _ digest: [UInt8]
    ) -> (Mechanism, [UInt8])? {
        switch algorithm {
        case .rsa:
            guard let hash = scheme.digest.flatMap({ HashAlgorithm($0) }) else { return nil }
            if scheme == .rsaPKCS1(scheme.digest ?? .sha256) {
                return (Mechanism(.rsaPKCS), hash.digestInfoPrefix + digest)
            }
            if scheme == .rsaPSS(scheme.digest ?? .sha256) {
                return (.rsaPSS(hash: hash, saltLength: digest.count), digest)
            }
            return nil
        case .ec: return scheme.digest.map { scheme == .ecdsa($0) } == true ? (Mechanism(.ecdsa), digest) : nil
        case .ed25519: return scheme == .ed25519 ? (.eddsa, digest) : nil
        case .other: return nil
        }
    }
}

extension Keychain {
    /// The key of an item, ready to be used.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` for an item that is not on the token, `invalidArgument` for one
    ///   that is no private key or whose public key nobody knows.
    public func tokenKey(for key: KeyItem) throws -> TokenKey {
        guard let object = key.item.object, object.objectClass == .privateKey else {
            throw KeychainError(.invalidArgument, "the item is not a private key on the token.")
        }
        var publicKeyInfo = object.publicKeyInfo
        if publicKeyInfo == nil {
            // A certificate of the same id tells the public key where the token has no public half.
            publicKeyInfo = try index.objects(keys()).first { $0.objectClass == .certificate && $0.id == object.id }
                .map { try $0.certificate.publicKey.subjectPublicKeyInfo }
        }
        guard let publicKeyInfo else {
            throw KeychainError(.invalidArgument, "the token has no public key or certificate for this private key.")
        }
        return TokenKey(keychain: self, object: object, publicKey: try PublicKey(subjectPublicKeyInfo: publicKeyInfo))
    }

    /// The private key of an identity. - Throws: As `tokenKey(for:)`.
    public func tokenKey(for identity: Identity) throws -> TokenKey {
        guard let object = identity.item.object else {
            throw KeychainError(.invalidArgument, "the identity was not found in a keychain.")
        }
        return TokenKey(keychain: self, object: object, publicKey: try identity.certificate().publicKey)
    }
}

extension HashAlgorithm {
    /// The token's word for a digest of libcrypto's.
    init?(_ digest: Digest) {
        switch digest {
        case .sha1: self = .sha1
        case .sha224: self = .sha224
        case .sha256: self = .sha256
        case .sha384: self = .sha384
        case .sha512: self = .sha512
        default: return nil
        }
    }

    /// DigestInfo of RFC 8017 section 9.2 up to the digest itself.
    var digestInfoPrefix: [UInt8] {
        if self == .sha1 {
            return [0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2B, 0x0E, 0x03, 0x02, 0x1A, 0x05, 0x00, 0x04, 0x14]
        }
        let (number, count): (UInt8, UInt8) = switch self {
        case .sha256: (1, 32)
        case .sha384: (2, 48)
        case .sha512: (3, 64)
        default: (4, 28)
        }
        return [
            0x30, 0x11 + count, 0x30, 0x0D, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, number, 0x05,
            0x00,
            0x04, count,
        ]
    }
}
