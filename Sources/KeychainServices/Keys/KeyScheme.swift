import Foundation
import KeyfobOpenSSL

/// The construction behind an algorithm, with the one table of algorithms.
///
/// A key signs a digest, encrypts or decrypts a block, or agrees on a secret. Apple's other algorithms are built from
/// these operations.
enum KeyScheme: Hashable, Sendable {
    /// The input of a signature.
    enum Input: Hashable, Sendable { case digest, message }

    /// The encoding of an ECDSA signature: DER, or r and s concatenated.
    enum Form: Hashable, Sendable { case x962, rfc4754 }

    case signature(SignatureScheme, of: Input, form: Form = .x962)
    /// One block of RSA.
    case encryption(EncryptionScheme)
    /// A fresh AES key under RSA-OAEP, and the message under AES-GCM.
    case wrapped(Digest)
    /// An ephemeral key pair, key agreement, X9.63, and the message under AES-GCM. The nonce is zero or derived.
    case ecies(Digest, derivesNonce: Bool)
    /// Key agreement, followed by X9.63 if there is a digest.
    case exchange(Digest?)

    /// The scheme of an algorithm; `nil` for algorithms that no key here supports.
    init?(_ algorithm: SecKeyAlgorithm) {
        guard let scheme = Self.table[algorithm.rawValue as String] else { return nil }
        self = scheme
    }

    /// Every algorithm that some key supports, by Apple's identifier.
    static let table: [String: KeyScheme] = {
        var table: [String: KeyScheme] = [
            "algid:sign:RSA:raw": .signature(.rsaRaw, of: .digest),
            "algid:sign:RSA:digest-PKCS1v15": .signature(.rsaPKCS1Prepared, of: .digest),
            "algid:sign:ECDSA:digest-X962": .signature(.ecdsaPrepared, of: .digest),
            "algid:sign:ECDSA:digest-RFC4754": .signature(.ecdsaPrepared, of: .digest, form: .rfc4754),
            "algid:sign:ECDSA:RFC4754": .signature(.ecdsaPrepared, of: .digest, form: .rfc4754),
            "algid:sign:EdDSA:message-Curve25519:SHA512": .signature(.ed25519, of: .message),
            "algid:encrypt:RSA:raw": .encryption(.rsaRaw),
            "algid:encrypt:RSA:PKCS1": .encryption(.rsaPKCS1),
        ]
        for (name, digest) in digests {
            // Apple's identifier says 24 for SHA-224, although the salt has the 28 bytes of the digest.
            let salt = digest == .sha224 ? 24 : digest.count
            for (word, input) in [("digest", Input.digest), ("message", .message)] {
                table["algid:sign:RSA:\(word)-PKCS1v15:\(name)"] = .signature(.rsaPKCS1(digest), of: input)
                table["algid:sign:RSA:\(word)-PSS:\(name):\(name):\(salt)"] = .signature(.rsaPSS(digest), of: input)
                table["algid:sign:ECDSA:\(word)-X962:\(name)"] = .signature(.ecdsa(digest), of: input)
                table["algid:sign:ECDSA:\(word)-RFC4754:\(name)"] = .signature(
                    .ecdsa(digest), of: input, form: .rfc4754)
            }
            table["algid:encrypt:RSA:OAEP:\(name)"] = .encryption(.rsaOAEP(digest))
            table["algid:encrypt:RSA:OAEP:\(name):AESGCM"] = .wrapped(digest)
        }
        // The supported curves have cofactor 1, so both kinds of agreement are the same.
        for exchange in ["ECDH", "ECDHC"] {
            table["algid:keyexchange:\(exchange)"] = .exchange(nil)
            for (name, digest) in digests {
                table["algid:keyexchange:\(exchange):KDFX963:\(name)"] = .exchange(digest)
                let identifier = "algid:encrypt:ECIES:\(exchange):KDFX963:\(name):AESGCM"
                table[identifier] = .ecies(digest, derivesNonce: false)
                table[identifier + "-KDFIV"] = .ecies(digest, derivesNonce: true)
            }
        }
        return table
    }()

    private static let digests: [(name: String, digest: Digest)] = [
        ("SHA1", .sha1), ("SHA224", .sha224), ("SHA256", .sha256), ("SHA384", .sha384), ("SHA512", .sha512),
    ]
}

extension KeyScheme {
    /// Whether a key supports the scheme for an operation.
    ///
    /// Private keys sign, decrypt and agree, and verify with their public half. Public keys verify, encrypt, and undo a
    /// raw RSA signature.
    func isSupported(by key: SecKey, for operation: SecKeyOperationType) -> Bool {
        let isRSA = key.isRSA
        let blockSize = key.blockSize
        switch (self, operation) {
        case (.signature(let scheme, _, _), .sign), (.signature(let scheme, _, _), .verify):
            return (operation == .verify || key.isPrivate) && scheme.fits(key.publicKey.algorithm)
        case (.encryption(.rsaRaw), .decrypt): return isRSA
        case (.encryption(let scheme), .encrypt), (.encryption(let scheme), .decrypt):
            return isRSA && key.isPrivate == (operation == .decrypt) && blockSize >= scheme.overhead
        case (.wrapped(let digest), .encrypt), (.wrapped(let digest), .decrypt):
            return isRSA && key.isPrivate == (operation == .decrypt)
                && blockSize >= EncryptionScheme.rsaOAEP(digest).overhead + key.sizeOfWrappedKey
        case (.ecies, .encrypt), (.ecies, .decrypt): return key.isEC && key.isPrivate == (operation == .decrypt)
        case (.exchange, .keyExchange): return key.isEC && key.isPrivate
        default: return false
        }
    }

    /// Returns the scheme of an algorithm if the key supports it for the operation.
    ///
    /// - Throws: `StatusError` (`errSecParam`) if not.
    static func supported(
        _ algorithm: SecKeyAlgorithm, by key: SecKey, for operation: SecKeyOperationType
    ) throws(StatusError) -> KeyScheme {
        guard let scheme = KeyScheme(algorithm), scheme.isSupported(by: key, for: operation) else {
            throw .parameter("the key does not support \(algorithm.rawValue) for this")
        }
        return scheme
    }
}
