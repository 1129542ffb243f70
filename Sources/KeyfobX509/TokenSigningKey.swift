#if X509
public import Foundation
public import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL
public import SwiftASN1
public import X509

/// A private key on the token, with which swift-certificates signs certificates, requests and revocation lists.
///
/// ```swift
/// let key = X509.Certificate.PrivateKey(try TokenSigningKey(keychain.keys.tokenKey(for: identity)))
/// let request = try await CertificateSigningRequest(
///     version: .v1, subject: name, asyncPrivateKey: key, attributes: .init(), signatureAlgorithm: .ecdsaWithSHA256)
/// ```
///
/// In tasks, use the functions of swift-certificates that take an `asyncPrivateKey`: they sign on Keyfob's threads. The
/// others block the caller's thread for one signature. The key never leaves the token, and serialising it throws.
public struct TokenSigningKey: CustomPrivateKey {
    /// The public key.
    public let publicKey: X509.Certificate.PublicKey
    /// The algorithms that fit the type of key. Whether the token supports one shows only when it signs.
    public let supportedSignatureAlgorithms: [X509.Certificate.SignatureAlgorithm]

    private let key: TokenKey

    /// Creates a signing key. Does not access the token.
    ///
    /// - Throws: `KeychainError` (`unsupportedFormat`) for types of keys that swift-certificates does not support.
    public init(_ key: TokenKey) throws {
        supportedSignatureAlgorithms = switch key.publicKey.algorithm {
        case .rsa: [.sha256WithRSAEncryption, .sha384WithRSAEncryption, .sha512WithRSAEncryption]
        case .ec(.p384): [.ecdsaWithSHA384, .ecdsaWithSHA256, .ecdsaWithSHA512]
        case .ec(.p521): [.ecdsaWithSHA512, .ecdsaWithSHA256, .ecdsaWithSHA384]
        case .ec: [.ecdsaWithSHA256, .ecdsaWithSHA384, .ecdsaWithSHA512]
        case .ed25519: [.ed25519]
        case .other: []
        }
        do {
            publicKey = try X509.Certificate.PublicKey(derEncoded: [UInt8](key.publicKey.subjectPublicKeyInfo))
        } catch {
            throw KeychainError(
                .unsupportedFormat, "swift-certificates does not know keys of type \(key.publicKey.algorithm).",
                cause: error)
        }
        self.key = key
    }

    /// The algorithm that fits the key best: a hash as strong as the curve, or SHA-256 for RSA.
    public var defaultSignatureAlgorithm: X509.Certificate.SignatureAlgorithm {
        // `init` refuses keys without algorithms, since swift-certificates does not support them.
        supportedSignatureAlgorithms.first ?? .sha256WithRSAEncryption
    }

    /// Signs on the caller's thread, and blocks it for as long as the token takes.
    ///
    /// - Throws: `KeychainError`; `mechanismUnsupported` for an algorithm that does not fit, and the errors of
    ///   `TokenKey.sign`.
    public func signSynchronously(
        bytes: some DataProtocol, signatureAlgorithm: X509.Certificate.SignatureAlgorithm
    ) throws -> X509.Certificate.Signature {
        try Self.signature(
            key.sign([UInt8](bytes), using: Self.scheme(for: signatureAlgorithm)), signatureAlgorithm)
    }

    /// Signs on one of Keyfob's threads.
    ///
    /// - Throws: `KeychainError`; `mechanismUnsupported` for an algorithm that does not fit, and the errors of
    ///   `TokenKey.sign`.
    public func signAsynchronously(
        bytes: some DataProtocol & Sendable, signatureAlgorithm: X509.Certificate.SignatureAlgorithm
    ) async throws -> X509.Certificate.Signature {
        try await Self.signature(
            key.sign([UInt8](bytes), using: Self.scheme(for: signatureAlgorithm)), signatureAlgorithm)
    }

    private static func signature(
        _ bytes: [UInt8], _ algorithm: X509.Certificate.SignatureAlgorithm
    ) throws -> X509.Certificate.Signature {
        try X509.Certificate.Signature(
            signatureAlgorithm: algorithm, signatureBytes: ASN1BitString(bytes: bytes[...]))
    }

    private static func scheme(for algorithm: X509.Certificate.SignatureAlgorithm) throws -> SignatureScheme {
        guard let scheme = scheme(of: algorithm) else {
            throw KeychainError(.mechanismUnsupported, "keys on a token do not sign with \(algorithm).")
        }
        return scheme
    }

    private static func scheme(of algorithm: X509.Certificate.SignatureAlgorithm) -> SignatureScheme? {
        switch algorithm {
        case .sha256WithRSAEncryption: .rsaPKCS1(.sha256)
        case .sha384WithRSAEncryption: .rsaPKCS1(.sha384)
        case .sha512WithRSAEncryption: .rsaPKCS1(.sha512)
        case .ecdsaWithSHA256: .ecdsa(.sha256)
        case .ecdsaWithSHA384: .ecdsa(.sha384)
        case .ecdsaWithSHA512: .ecdsa(.sha512)
        case .ed25519: .ed25519
        default: nil
        }
    }
}

extension TokenSigningKey: PEMSerializable {
    /// The discriminator that a private key would have.
    public static var defaultPEMDiscriminator: String { "PRIVATE KEY" }

    /// Always throws, because the key is on the token.
    ///
    /// - Throws: `KeychainError` (`keyNotExtractable`).
    public func serialize(into coder: inout DER.Serializer) throws { throw Self.refusal }

    /// Always throws, because the key is on the token.
    ///
    /// - Throws: `KeychainError` (`keyNotExtractable`).
    public func serializeAsPEM(discriminator: String) throws -> PEMDocument { throw Self.refusal }

    private static let refusal = KeychainError(
        .keyNotExtractable, "the key is on a token and cannot be written out.",
        hint: "Use it in place, or export the identity where it was made extractable.")
}

extension TokenSigningKey: Hashable {
    /// Whether both have the same public key.
    public static func == (left: Self, right: Self) -> Bool { left.publicKey == right.publicKey }

    /// Hashes the public key.
    public func hash(into hasher: inout Hasher) { hasher.combine(publicKey) }
}

extension TokenSigningKey: CustomStringConvertible {
    /// The type of the key.
    public var description: String { "TokenSigningKey(\(publicKey))" }
}

extension X509.Certificate.PrivateKey {
    /// Creates a signing key from an identity's private key, which stays on the token.
    ///
    /// - Throws: `KeychainError`; `itemNotFound`, `invalidArgument`, `unsupportedFormat`.
    public init(_ identity: Identity, in keychain: Keychain) throws {
        self.init(try TokenSigningKey(keychain.keys.tokenKey(for: identity)))
    }
}
#endif
