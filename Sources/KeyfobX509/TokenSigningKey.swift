#if X509
public import Foundation
public import Keyfob
import KeyfobPrimitives
import OpenSSL
public import SwiftASN1
public import X509

/// A private key on the token, as swift-certificates signs certificates, requests and lists with it.
///
/// ```swift
/// let key = X509.Certificate.PrivateKey(try TokenSigningKey(keychain.tokenKey(for: identity)))
/// let request = try await CertificateSigningRequest(
///     version: .v1, subject: name, asyncPrivateKey: key, attributes: .init(), signatureAlgorithm: .ecdsaWithSHA256)
/// ```
///
/// Use the forms of swift-certificates that take an `asyncPrivateKey` from tasks: they sign on threads of Keyfob's own.
/// The others block the caller's thread for one signature. The key never leaves the token, and serialising it throws.
public struct TokenSigningKey: CustomPrivateKey {
    /// The public key.
    public let publicKey: X509.Certificate.PublicKey
    /// The algorithms that fit the kind of key. Whether the token can do each shows when it signs.
    public let supportedSignatureAlgorithms: [X509.Certificate.SignatureAlgorithm]

    private let key: TokenKey

    /// Dresses a key for swift-certificates. The token is not touched.
    ///
    /// - Throws: `KeychainError` (`unsupportedFormat`) for kinds of keys that swift-certificates does not know.
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

    /// The algorithm that fits the key best: the hash as strong as the curve, SHA-256 for RSA.
    public var defaultSignatureAlgorithm: X509.Certificate.SignatureAlgorithm {
        // A key without algorithms was refused by `init`: swift-certificates knows no others.
        supportedSignatureAlgorithms.first ?? .sha256WithRSAEncryption
    }

    /// Signs on the caller's thread, and blocks it for as long as the token takes.
    ///
    /// - Throws: `KeychainError`; `mechanismUnsupported` for an algorithm that does not fit, and as `TokenKey.sign`.
    public func signSynchronously(
        bytes: some DataProtocol, signatureAlgorithm: X509.Certificate.SignatureAlgorithm
    ) throws -> X509.Certificate.Signature {
        try Self.signature(
            key.sign([UInt8](bytes), using: Self.scheme(for: signatureAlgorithm)), signatureAlgorithm)
    }

    /// Signs on a thread of Keyfob's own. - Throws: As the blocking form.
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

    /// Refuses. - Throws: `KeychainError` (`keyNotExtractable`), always: the key is on the token.
    public func serialize(into coder: inout DER.Serializer) throws { throw Self.refusal }

    /// Refuses. - Throws: `KeychainError` (`keyNotExtractable`), always: the key is on the token.
    public func serializeAsPEM(discriminator: String) throws -> PEMDocument { throw Self.refusal }

    private static let refusal = KeychainError(
        .keyNotExtractable, "the key is on a token and cannot be written out.",
        hint: "Use it in place, or export the identity where it was made extractable.")
}

extension TokenSigningKey: Hashable {
    /// Whether both are for the same public key.
    public static func == (left: Self, right: Self) -> Bool { left.publicKey == right.publicKey }

    /// Hashes the public key.
    public func hash(into hasher: inout Hasher) { hasher.combine(publicKey) }
}

extension TokenSigningKey: CustomStringConvertible {
    /// The kind of key.
    public var description: String { "TokenSigningKey(\(publicKey))" }
}

extension X509.Certificate.PrivateKey {
    /// The private key of an identity, which stays on the token.
    ///
    /// - Throws: `KeychainError`; `itemNotFound`, `invalidArgument`, `unsupportedFormat`.
    public init(_ identity: Identity, in keychain: Keychain) throws {
        self.init(try TokenSigningKey(keychain.tokenKey(for: identity)))
    }
}
#endif
