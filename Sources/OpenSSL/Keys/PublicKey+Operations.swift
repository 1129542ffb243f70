import COpenSSL
public import Foundation
public import KeyfobPrimitives

extension PublicKey {
    /// Whether `signature` is this key's signature of `message`.
    ///
    /// - Throws: `CryptoError` (`unsupportedKey`) when scheme and key do not fit; `OpenSSLError` when libcrypto fails
    ///   or refuses the key.
    public func verify(
        _ signature: some ContiguousBytes, of message: some ContiguousBytes, using scheme: SignatureScheme
    ) throws -> Bool {
        let handle = try usableHandle(for: scheme)
        let context = try unsafe check("EVP_MD_CTX_new", EVP_MD_CTX_new())
        defer { unsafe EVP_MD_CTX_free(context) }
        return try unsafe handle.withPointer { key in
            var keyContext: OpaquePointer?
            try check("EVP_DigestVerifyInit_ex", unsafe EVP_DigestVerifyInit_ex(
                context, &keyContext, scheme.digest?.name, nil, nil, key, nil))
            try unsafe scheme.configure(keyContext)
            let result = unsafe signature.withUnsafeBytes { signature in
                unsafe message.withUnsafeBytes { message in
                    unsafe EVP_DigestVerify(
                        context, signature.baseAddress?.assumingMemoryBound(to: UInt8.self), signature.count,
                        message.baseAddress?.assumingMemoryBound(to: UInt8.self), message.count)
                }
            }
            // A signature that is no signature at all leaves errors behind; it is still only "no".
            ERR_clear_error()
            return result == 1
        }
    }

    /// Whether `signature` is this key's signature of the message that `digest` is the digest of.
    ///
    /// For schemes that hash inside, as Ed25519 does, `digest` is the message itself.
    ///
    /// - Throws: As `verify(_:of:using:)`.
    public func verify(
        _ signature: [UInt8], ofDigest digest: [UInt8], using scheme: SignatureScheme
    ) throws -> Bool {
        guard let hash = scheme.digest else { return try verify(signature, of: digest, using: scheme) }
        let context = try unsafe usableHandle(for: scheme).withPointer { key in
            try unsafe check("EVP_PKEY_CTX_new_from_pkey", EVP_PKEY_CTX_new_from_pkey(nil, key, nil))
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        try check("EVP_PKEY_verify_init", unsafe EVP_PKEY_verify_init(context))
        try unsafe scheme.configure(context)
        let algorithm = try unsafe check("EVP_MD_fetch", EVP_MD_fetch(nil, hash.name, nil))
        defer { unsafe EVP_MD_free(algorithm) }
        try check("EVP_PKEY_CTX_set_signature_md", unsafe EVP_PKEY_CTX_set_signature_md(context, algorithm))
        let result = unsafe EVP_PKEY_verify(context, signature, signature.count, digest, digest.count)
        // A signature that is no signature at all leaves errors behind; it is still only "no".
        ERR_clear_error()
        return result == 1
    }

    /// Encrypts with RSA-OAEP (RFC 8017 7.1), MGF1 over the same digest and an empty label.
    ///
    /// - Throws: `CryptoError` (`unsupportedKey`) for another kind of key; `OpenSSLError` when the secret is too
    ///   long or libcrypto refuses the key.
    public func encryptOAEP(_ secret: SecretBytes, hash: Digest) throws -> [UInt8] {
        guard case .rsa = algorithm else { throw CryptoError(.unsupportedKey, "OAEP takes an RSA key") }
        let context = try unsafe handle.withPointer { key in
            try unsafe check("EVP_PKEY_CTX_new_from_pkey", EVP_PKEY_CTX_new_from_pkey(nil, key, nil))
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        try check("EVP_PKEY_encrypt_init", unsafe EVP_PKEY_encrypt_init(context))
        try unsafe OAEP.configure(context, hash: hash)
        return try unsafe secret.withUnsafeBytes { source in
            let bytes = unsafe source.baseAddress?.assumingMemoryBound(to: UInt8.self)
            var count = 0
            try check("EVP_PKEY_encrypt", unsafe EVP_PKEY_encrypt(context, nil, &count, bytes, source.count))
            var output = [UInt8](repeating: 0, count: count)
            try check("EVP_PKEY_encrypt", unsafe EVP_PKEY_encrypt(context, &output, &count, bytes, source.count))
            return Array(output.prefix(count))
        }
    }

    /// Checks now that libcrypto can use the key: an EC point must be on its curve. Kinds and curves that are not named
    /// in `KeyAlgorithm` pass: they can be stored and shown.
    ///
    /// Takes a fraction of a millisecond the first time.
    ///
    /// - Throws: `KeyFileError` (`damaged`) when it cannot.
    public func validate() throws(KeyFileError) {
        do {
            _ = try handle.owner()
        } catch {
            guard isKnownKind else { return }
            throw KeyFileError(.damaged, "it is no \(algorithm) key", cause: error)
        }
    }

    /// The EVP_PKEY; `nil` when libcrypto refuses it.
    var usableHandle: OwnedPointer? {
        do {
            return try handle.owner()
        } catch {
            return nil
        }
    }

    /// Whether libcrypto must be able to use it.
    private var isKnownKind: Bool {
        switch algorithm {
        case .rsa, .ed25519: true
        case .ec(let curve): curve.bits != nil
        case .other: false
        }
    }

    private func usableHandle(for scheme: SignatureScheme) throws -> OwnedPointer {
        guard scheme.fits(algorithm), isKnownKind || usableHandle != nil else {
            throw CryptoError(.unsupportedKey, "\(scheme) does not work with \(algorithm)")
        }
        return try handle.owner()
    }
}

/// The padding of RSA-OAEP, for both directions.
enum OAEP {
    static func configure(_ context: OpaquePointer, hash: Digest) throws(OpenSSLError) {
        try check("EVP_PKEY_CTX_set_rsa_padding", unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING))
        try check(
            "EVP_PKEY_CTX_set_rsa_oaep_md_name", unsafe EVP_PKEY_CTX_set_rsa_oaep_md_name(context, hash.name, nil))
        try check(
            "EVP_PKEY_CTX_set_rsa_mgf1_md_name", unsafe EVP_PKEY_CTX_set_rsa_mgf1_md_name(context, hash.name, nil))
    }
}
