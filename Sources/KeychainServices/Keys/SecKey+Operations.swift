import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// The operations of a private key, in memory or on a token.
protocol PrivateKeyOperations: Sendable {
    var publicKey: PublicKey { get }
    func signDigest(_ digest: [UInt8], using scheme: SignatureScheme) throws -> [UInt8]
    func decrypt(_ ciphertext: [UInt8], using scheme: EncryptionScheme) throws -> SecretBytes
    func sharedSecret(with other: PublicKey) throws -> SecretBytes
}

extension PrivateKey: PrivateKeyOperations {}
extension TokenKey: PrivateKeyOperations {}

extension SecKey {
    /// Returns the private half, after user confirmation if its access control requires that.
    ///
    /// Call it for each use of the key. Blocks until the user has answered.
    ///
    /// - Throws: `StatusError` (`errSecParam`) for a public key; the errors of `Keychain.confirmPresence()`.
    func operations() throws -> any PrivateKeyOperations {
        switch material {
        case .token(let key):
            try confirmUse()
            return key
        case .memory(let key):
            try confirmUse()
            return key
        case .public: throw StatusError.parameter("this takes a private key")
        }
    }

    /// The size of a block in bytes: of the modulus or of a coordinate.
    var blockSize: Int { (publicKey.size + 7) / 8 }

    /// The size of the AES key that RSA wraps, in bytes.
    var sizeOfWrappedKey: Int { publicKey.size >= 4096 ? 32 : 16 }

    /// Signs a message, a digest or a block, as the algorithm requires.
    ///
    /// Blocks for a key on a token.
    ///
    /// - Throws: `StatusError`, `CryptoError`, `KeychainError`.
    func sign(_ data: [UInt8], _ algorithm: SecKeyAlgorithm) throws -> [UInt8] {
        guard
            case .signature(let scheme, let input, let form) = try KeyScheme.supported(algorithm, by: self, for: .sign)
        else { throw StatusError.parameter("not an algorithm of signatures") }
        try checkBlock(data, scheme)
        let signature = try operations().signDigest(Self.digest(data, scheme, input), using: scheme)
        return form == .rfc4754 ? try ECDSASignature(der: signature, size: blockSize).raw : signature
    }

    /// Checks that a block that the caller padded fits into RSA. Tokens report different errors if it does not.
    ///
    /// - Throws: `StatusError`, `CryptoError`.
    private func checkBlock(_ block: [UInt8], _ scheme: SignatureScheme) throws {
        if scheme == .rsaPKCS1Prepared, block.count > blockSize - 11 {
            throw StatusError.parameter("the block leaves no room for its padding")
        }
        // Encryption fails for a number that is not below the modulus.
        if scheme == .rsaRaw { _ = try publicKey.encrypt(SecretBytes(block), using: .rsaRaw) }
    }

    /// Verifies a signature with the public half of the key.
    ///
    /// - Returns: Whether the signature is valid; `false` also for malformed signatures.
    /// - Throws: `StatusError`, `CryptoError`.
    func verify(_ signature: [UInt8], of data: [UInt8], _ algorithm: SecKeyAlgorithm) throws -> Bool {
        let supported = try KeyScheme.supported(algorithm, by: self, for: .verify)
        guard case .signature(let scheme, let input, let form) = supported else {
            throw StatusError.parameter("not an algorithm of signatures")
        }
        var signature = signature
        if form == .rfc4754 {
            guard signature.count == 2 * blockSize else { return false }
            signature = try ECDSASignature(raw: signature).der
        }
        return try publicKey.verify(signature, ofDigest: Self.digest(data, scheme, input), using: scheme)
    }

    private static func digest(
        _ data: [UInt8], _ scheme: SignatureScheme, _ input: KeyScheme.Input
    ) throws(StatusError) -> [UInt8] {
        guard let digest = scheme.digest else { return data }
        if input == .message { return [UInt8](digest(data)) }
        guard data.count == digest.count else {
            throw .parameter("the digest has \(data.count) bytes instead of \(digest.count)")
        }
        return data
    }

    /// Encrypts for this key.
    ///
    /// - Throws: `StatusError`, `CryptoError`, `OpenSSLError`.
    func encrypt(_ plaintext: [UInt8], _ algorithm: SecKeyAlgorithm) throws -> [UInt8] {
        switch try KeyScheme.supported(algorithm, by: self, for: .encrypt) {
        case .encryption(let scheme): return try publicKey.encrypt(SecretBytes(plaintext), using: scheme)
        case .wrapped(let digest): return try wrap(plaintext, digest)
        case .ecies(let digest, let derivesNonce):
            let ephemeral = try PrivateKey.generate(publicKey.algorithm)
            let box = try EphemeralBox(
                secret: ephemeral.sharedSecret(with: publicKey), ephemeral: ephemeral.publicKey, digest: digest,
                derivesNonce: derivesNonce)
            return [UInt8](ephemeral.publicKey.bits) + (try box.seal(plaintext))
        case .signature, .exchange: throw StatusError.parameter("not an algorithm of encryption")
        }
    }

    /// Decrypts a message that was encrypted for this key.
    ///
    /// Blocks for a key on a token.
    ///
    /// - Throws: `StatusError`, `CryptoError`, `KeychainError`.
    func decrypt(_ ciphertext: [UInt8], _ algorithm: SecKeyAlgorithm) throws -> SecretBytes {
        switch try KeyScheme.supported(algorithm, by: self, for: .decrypt) {
        case .encryption(let scheme):
            guard isPrivate else { return SecretBytes(try publicKey.encrypt(SecretBytes(ciphertext), using: scheme)) }
            return try operations().decrypt(ciphertext, using: scheme)
        case .wrapped(let digest): return try unwrap(ciphertext, digest)
        case .ecies(let digest, let derivesNonce):
            let size = 2 * blockSize + 1
            guard case .ec(let curve) = publicKey.algorithm, ciphertext.count >= size + AESGCM.tagCount else {
                throw StatusError.parameter("the ciphertext is too short")
            }
            let ephemeral = try PublicKey(ecPoint: Data(ciphertext.prefix(size)), curve: curve)
            let box = try EphemeralBox(
                secret: operations().sharedSecret(with: ephemeral), ephemeral: ephemeral, digest: digest,
                derivesNonce: derivesNonce)
            return try box.open(Array(ciphertext.dropFirst(size)))
        case .signature, .exchange: throw StatusError.parameter("not an algorithm of encryption")
        }
    }

    /// Returns the shared secret of this key and another one, or the key that X9.63 derives from it.
    ///
    /// - Parameter count: The number of bytes to derive, required by the algorithms with X9.63.
    /// - Throws: `StatusError`, `CryptoError`, `KeychainError`.
    func exchange(
        with other: SecKey, _ algorithm: SecKeyAlgorithm, count: Int?, sharedInfo: [UInt8]
    ) throws -> SecretBytes {
        guard case .exchange(let digest) = try KeyScheme.supported(algorithm, by: self, for: .keyExchange) else {
            throw StatusError.parameter("not an algorithm of key exchange")
        }
        guard !other.isPrivate, other.publicKey.algorithm == publicKey.algorithm else {
            throw StatusError.parameter("the other key is not a public key on the same curve")
        }
        guard let digest else { return try operations().sharedSecret(with: other.publicKey) }
        guard let count else { throw StatusError.parameter("the size that is wanted is missing") }
        return try X963KDF.derive(
            secret: operations().sharedSecret(with: other.publicKey), sharedInfo: sharedInfo, count: count,
            digest: digest)
    }

    // MARK: A wrapped AES key

    // Both formats use a nonce of 16 zero bytes, because each AES key is used for one message.
    private static let zeroNonce = [UInt8](repeating: 0, count: 16)

    private func wrap(_ plaintext: [UInt8], _ digest: Digest) throws -> [UInt8] {
        let key = try RandomBytes.secret(count: sizeOfWrappedKey)
        let sealed = try AESGCM(key: key, nonceCount: 16).seal(
            plaintext, nonce: Self.zeroNonce, additionalData: [UInt8](publicKey.bits))
        return try publicKey.encrypt(key, using: .rsaOAEP(digest)) + sealed.ciphertext + sealed.tag
    }

    private func unwrap(_ ciphertext: [UInt8], _ digest: Digest) throws -> SecretBytes {
        let size = blockSize
        guard ciphertext.count >= size + AESGCM.tagCount else {
            throw StatusError.parameter("the ciphertext is too short")
        }
        let key = try operations().decrypt(Array(ciphertext.prefix(size)), using: .rsaOAEP(digest))
        guard key.count == sizeOfWrappedKey else { throw StatusError.parameter("the wrapped key has another size") }
        return try AESGCM(key: key, nonceCount: 16).open(
            ciphertext: Array(ciphertext[size...].dropLast(AESGCM.tagCount)),
            tag: Array(ciphertext.suffix(AESGCM.tagCount)), nonce: Self.zeroNonce,
            additionalData: [UInt8](publicKey.bits))
    }
}
