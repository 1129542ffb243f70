import COpenSSL
public import Foundation
public import KeyfobPrimitives

/// A private key in the memory of this process. libcrypto wipes it when the last copy is released.
///
/// For keys that are imported into a token, and for files. Immutable and safe to use from any thread.
public struct PrivateKey: Sendable {
    let handle: OwnedPointer
    /// The public half.
    public let publicKey: PublicKey

    /// The size limit for RSA keys in bits, libcrypto's limit for public keys (`OPENSSL_RSA_MAX_MODULUS_BITS`).
    ///
    /// libcrypto has no limit for private keys, and the cost grows with the cube of the size.
    public static let maximumRSASize = 16384

    /// Takes ownership of `handle`, an EVP_PKEY with both halves.
    ///
    /// - Throws: `KeyFileError` with code `unsupported` for an RSA key above `maximumRSASize`, and for an EC key with
    ///   the parameters of a curve that has no name.
    init(handle: OwnedPointer) throws {
        self.handle = handle
        let information = try unsafe handle.withPointer { key in
            try unsafe encoded("i2d_PUBKEY") { unsafe i2d_PUBKEY(key, $0) }
        }
        publicKey = try PublicKey(subjectPublicKeyInfo: information)
        if publicKey.algorithm == .other(KeyAlgorithm.ecOID.rawValue) { throw KeyFileError.explicitCurve }
        if case .ec = publicKey.algorithm { try completeEncodings() }
        guard case .rsa(let bits) = publicKey.algorithm, bits > Self.maximumRSASize else { return }
        throw KeyFileError(.unsupported, "it has an RSA key of \(bits) bits, and the largest is \(Self.maximumRSASize)")
    }

    /// Has what is written of an EC key hold its public key and the name of its curve, whatever the file had that it
    /// came from: some programs do not take a key without them (RFC 5915 3, RFC 5480 2.1.1).
    private func completeEncodings() throws(OpenSSLError) {
        try unsafe handle.withPointer { (key) throws(OpenSSLError) in
            try check(
                "EVP_PKEY_set_int_param", unsafe EVP_PKEY_set_int_param(key, OSSL_PKEY_PARAM_EC_INCLUDE_PUBLIC, 1))
            try unsafe PublicKey.nameCurve(of: key)
        }
    }

    /// Generates a key.
    ///
    /// Blocks for RSA, from tenths of a second to many seconds.
    ///
    /// - Throws: `CryptoError` (`unsupportedKey`) for an unsupported type or size (RSA below 1024 or above 16384 bits);
    ///   `OpenSSLError` if libcrypto fails.
    public static func generate(_ algorithm: KeyAlgorithm) throws -> PrivateKey {
        let name: String
        switch algorithm {
        case .rsa(let bits) where (1024...maximumRSASize).contains(bits): name = "RSA"
        case .ec(let curve) where curve.bits != nil: name = "EC"
        case .ed25519: name = "ED25519"
        default: throw CryptoError(.unsupportedKey, "cannot generate \(algorithm)")
        }
        let context = try unsafe check("EVP_PKEY_CTX_new_from_name", EVP_PKEY_CTX_new_from_name(nil, name, nil))
        defer { unsafe EVP_PKEY_CTX_free(context) }
        try check("EVP_PKEY_keygen_init", unsafe EVP_PKEY_keygen_init(context))
        if case .rsa(let bits) = algorithm {
            try check("EVP_PKEY_CTX_set_rsa_keygen_bits", unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(bits)))
        }
        if case .ec(let curve) = algorithm {
            let group = unsafe OBJ_txt2nid(curve.rawValue)
            try check(
                "EVP_PKEY_CTX_set_ec_paramgen_curve_nid",
                unsafe EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, group))
        }
        var key: OpaquePointer?
        try check("EVP_PKEY_generate", unsafe EVP_PKEY_generate(context, &key))
        let pointer = try unsafe check("EVP_PKEY_generate", key)
        return try PrivateKey(handle: unsafe OwnedPointer(adopting: pointer) { unsafe EVP_PKEY_free($0) })
    }

    /// Signs `message`, which is the prepared input for schemes that do not hash.
    ///
    /// - Throws: `CryptoError` (`unsupportedKey`) if the scheme does not fit the key; `OpenSSLError` if libcrypto
    ///   fails.
    public func sign(_ message: some ContiguousBytes, using scheme: SignatureScheme) throws -> Data {
        guard scheme.fits(publicKey.algorithm) else {
            throw CryptoError(.unsupportedKey, "\(scheme) does not work with \(publicKey.algorithm)")
        }
        if scheme.digest == nil, !scheme.hashesInside {
            return Data(try signDigest(unsafe message.withUnsafeBytes { unsafe [UInt8]($0) }, using: scheme))
        }
        let context = try unsafe check("EVP_MD_CTX_new", EVP_MD_CTX_new())
        defer { unsafe EVP_MD_CTX_free(context) }
        return try unsafe handle.withPointer { key in
            var keyContext: OpaquePointer?
            try check("EVP_DigestSignInit_ex", unsafe EVP_DigestSignInit_ex(
                context, &keyContext, scheme.digest?.name, nil, nil, key, nil))
            try unsafe scheme.configure(keyContext)
            return try unsafe message.withUnsafeBytes { message in
                let bytes = unsafe message.baseAddress?.assumingMemoryBound(to: UInt8.self)
                var count = 0
                try check("EVP_DigestSign", unsafe EVP_DigestSign(context, nil, &count, bytes, message.count))
                var output = [UInt8](repeating: 0, count: count)
                try check("EVP_DigestSign", unsafe EVP_DigestSign(context, &output, &count, bytes, message.count))
                return Data(output.prefix(count))
            }
        }
    }

    /// Signs a digest, or the message itself for schemes that hash internally, such as Ed25519.
    ///
    /// - Throws: `CryptoError`: `unsupportedKey` if the scheme does not fit the key, `invalidInput` for a digest of the
    ///   wrong length or too long for the key; `OpenSSLError` if libcrypto fails.
    public func signDigest(_ digest: [UInt8], using scheme: SignatureScheme) throws -> [UInt8] {
        if scheme.hashesInside { return [UInt8](try sign(digest, using: scheme)) }
        guard scheme.fits(publicKey.algorithm) else {
            throw CryptoError(.unsupportedKey, "\(scheme) does not work with \(publicKey.algorithm)")
        }
        if let expected = scheme.digest?.count, digest.count != expected {
            throw CryptoError(.invalidInput, "\(scheme) takes a digest of \(expected) bytes")
        }
        guard let input = RSAPadding.padded(digest, scheme, publicKey.algorithm) else {
            throw CryptoError(.invalidInput, "too long for this key")
        }
        let context = try unsafe handle.withPointer { key in
            try unsafe check("EVP_PKEY_CTX_new_from_pkey", EVP_PKEY_CTX_new_from_pkey(nil, key, nil))
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        try check("EVP_PKEY_sign_init", unsafe EVP_PKEY_sign_init(context))
        try unsafe scheme.configure(context)
        try unsafe scheme.announceDigest(context)
        var count = 0
        try check("EVP_PKEY_sign", unsafe EVP_PKEY_sign(context, nil, &count, input, input.count))
        var output = [UInt8](repeating: 0, count: count)
        guard unsafe EVP_PKEY_sign(context, &output, &count, input, input.count) == 1 else {
            let error = OpenSSLError(draining: "EVP_PKEY_sign")
            guard case .rsa = publicKey.algorithm else { throw error }
            throw CryptoError(.invalidInput, "too large for this key")
        }
        return Array(output.prefix(count))
    }

    /// Decrypts RSA-OAEP (RFC 8017 section 7.1) with MGF1 of the same digest and an empty label.
    ///
    /// - Throws: `CryptoError`: `unsupportedKey` for another type of key, `authenticationFailed` if the ciphertext is
    ///   not for this key; `OpenSSLError` if libcrypto fails.
    public func decryptOAEP(_ ciphertext: [UInt8], hash: Digest) throws -> SecretBytes {
        try decrypt(ciphertext, using: .rsaOAEP(hash))
    }

    /// Decrypts with an RSA key.
    ///
    /// > Important: With `.rsaPKCS1`, a program that reveals whether decryption succeeded is a decryption oracle.
    ///
    /// - Throws: `CryptoError`: `unsupportedKey` for another type of key, `authenticationFailed` if the ciphertext is
    ///   not for this key; `OpenSSLError` if libcrypto fails.
    public func decrypt(_ ciphertext: [UInt8], using scheme: EncryptionScheme) throws -> SecretBytes {
        guard case .rsa(let bits) = publicKey.algorithm else {
            throw CryptoError(.unsupportedKey, "\(scheme) takes an RSA key")
        }
        if scheme == .rsaPKCS1 {
            // For an invalid ciphertext, newer versions of libcrypto return random bytes instead of an error.
            return try RSAPadding.message(inDecrypted: decrypt(ciphertext, using: .rsaRaw), using: scheme)
        }
        let context = try unsafe handle.withPointer { key in
            try unsafe check("EVP_PKEY_CTX_new_from_pkey", EVP_PKEY_CTX_new_from_pkey(nil, key, nil))
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        try check("EVP_PKEY_decrypt_init", unsafe EVP_PKEY_decrypt_init(context))
        try unsafe scheme.configure(context)
        var count = (bits + 7) / 8
        guard ciphertext.count <= count else {
            throw CryptoError(.authenticationFailed, "the ciphertext is longer than the modulus")
        }
        // The ciphertext is a number, whose leading zeros may be missing.
        let input = [UInt8](repeating: 0, count: count - ciphertext.count) + ciphertext
        let whole = try unsafe SecretBytes(count: count) { output in
            guard unsafe EVP_PKEY_decrypt(context, output.baseAddress, &count, input, input.count) == 1 else {
                ERR_clear_error()
                throw CryptoError(.authenticationFailed, "the ciphertext does not belong to this key")
            }
        }
        return whole.prefix(count)
    }

    /// Returns the shared secret with another EC key: the x coordinate (SEC 1 section 3.3.1), which is not yet a key.
    ///
    /// - Throws: `CryptoError` (`unsupportedKey`) if the keys are not on the same curve; `OpenSSLError` if libcrypto
    ///   fails or the point of `other` is not on the curve.
    public func sharedSecret(with other: PublicKey) throws -> SecretBytes {
        guard case .ec = publicKey.algorithm, other.algorithm == publicKey.algorithm else {
            throw CryptoError(.unsupportedKey, "key agreement takes two keys on one curve")
        }
        let peer = try other.handle.owner()
        let context = try unsafe handle.withPointer { key in
            try unsafe check("EVP_PKEY_CTX_new_from_pkey", EVP_PKEY_CTX_new_from_pkey(nil, key, nil))
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        try check("EVP_PKEY_derive_init", unsafe EVP_PKEY_derive_init(context))
        try unsafe peer.withPointer {
            try check("EVP_PKEY_derive_set_peer", unsafe EVP_PKEY_derive_set_peer(context, $0))
        }
        var count = 0
        try check("EVP_PKEY_derive", unsafe EVP_PKEY_derive(context, nil, &count))
        let whole = try unsafe SecretBytes(count: count) { output in
            try check("EVP_PKEY_derive", unsafe EVP_PKEY_derive(context, output.baseAddress, &count))
        }
        return whole.prefix(count)
    }
}
