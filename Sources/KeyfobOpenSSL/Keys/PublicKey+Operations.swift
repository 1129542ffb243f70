import COpenSSL
public import Foundation
public import KeyfobPrimitives

extension PublicKey {
    /// Whether `signature` is this key's signature of `message`.
    ///
    /// For schemes that do not hash, `message` is the prepared input.
    ///
    /// - Throws: `CryptoError` (`unsupportedKey`) if the scheme does not fit the key; `OpenSSLError` if libcrypto fails
    ///   or rejects the key.
    public func verify(
        _ signature: some ContiguousBytes, of message: some ContiguousBytes, using scheme: SignatureScheme
    ) throws -> Bool {
        if scheme.digest == nil, !scheme.hashesInside {
            let prepared = unsafe message.withUnsafeBytes { unsafe [UInt8]($0) }
            return try verify(
                unsafe signature.withUnsafeBytes { unsafe [UInt8]($0) }, ofDigest: prepared, using: scheme)
        }
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
            // A malformed signature leaves errors on the stack, but counts as invalid.
            ERR_clear_error()
            return result == 1
        }
    }

    /// Whether `signature` is this key's signature of the message with the given digest.
    ///
    /// For schemes that hash internally, such as Ed25519, `digest` is the message itself.
    ///
    /// - Throws: `CryptoError` (`unsupportedKey`) if the scheme does not fit the key; `OpenSSLError` if libcrypto fails
    ///   or rejects the key.
    public func verify(
        _ signature: [UInt8], ofDigest digest: [UInt8], using scheme: SignatureScheme
    ) throws -> Bool {
        if scheme.hashesInside { return try verify(signature, of: digest, using: scheme) }
        let context = try unsafe usableHandle(for: scheme).withPointer { key in
            try unsafe check("EVP_PKEY_CTX_new_from_pkey", EVP_PKEY_CTX_new_from_pkey(nil, key, nil))
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        try check("EVP_PKEY_verify_init", unsafe EVP_PKEY_verify_init(context))
        try unsafe scheme.configure(context)
        try unsafe scheme.announceDigest(context)
        guard let digest = RSAPadding.padded(digest, scheme, algorithm) else { return false }
        let result = unsafe EVP_PKEY_verify(context, signature, signature.count, digest, digest.count)
        // A malformed signature leaves errors on the stack, but counts as invalid.
        ERR_clear_error()
        return result == 1
    }

    /// Encrypts with RSA-OAEP (RFC 8017 section 7.1) with MGF1 of the same digest and an empty label.
    ///
    /// - Throws: `CryptoError`: `unsupportedKey` for another type of key, `invalidInput` if the secret is too long;
    ///   `OpenSSLError` if libcrypto rejects the key.
    public func encryptOAEP(_ secret: SecretBytes, hash: Digest) throws -> [UInt8] {
        try encrypt(secret, using: .rsaOAEP(hash))
    }

    /// Encrypts with an RSA key.
    ///
    /// - Throws: `CryptoError`: `unsupportedKey` for another type of key, `invalidInput` if the secret is too long for
    ///   key and scheme; `OpenSSLError` if libcrypto rejects the key.
    public func encrypt(_ secret: SecretBytes, using scheme: EncryptionScheme) throws -> [UInt8] {
        guard case .rsa(let bits) = algorithm else { throw CryptoError(.unsupportedKey, "\(scheme) takes an RSA key") }
        let context = try unsafe handle.withPointer { key in
            try unsafe check("EVP_PKEY_CTX_new_from_pkey", EVP_PKEY_CTX_new_from_pkey(nil, key, nil))
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        try check("EVP_PKEY_encrypt_init", unsafe EVP_PKEY_encrypt_init(context))
        try unsafe scheme.configure(context)
        let blockSize = (bits + 7) / 8
        guard secret.count <= blockSize - scheme.overhead else {
            throw CryptoError(
                .invalidInput, "\(scheme) under this key takes \(blockSize - scheme.overhead) bytes at most")
        }
        let source = scheme == .rsaRaw ? secret.leftPadded(to: blockSize) : secret
        return try unsafe source.withUnsafeBytes { source in
            // An empty message has no address, and libcrypto would only return the length.
            let bytes = unsafe source.baseAddress?.assumingMemoryBound(to: UInt8.self)
            var count = blockSize
            var output = [UInt8](repeating: 0, count: count)
            guard unsafe EVP_PKEY_encrypt(context, &output, &count, bytes, source.count) == 1 else {
                let error = OpenSSLError(draining: "EVP_PKEY_encrypt")
                guard scheme == .rsaRaw else { throw error }
                throw CryptoError(.invalidInput, "the number is larger than the modulus")
            }
            return Array(output.prefix(count))
        }
    }

    /// Checks that libcrypto can use the key: an EC point must be on its curve.
    ///
    /// Types and curves without a constant in `KeyAlgorithm` and `NamedCurve` pass, because they can be stored and
    /// shown. The first call takes a fraction of a millisecond.
    ///
    /// - Throws: `KeyFileError` (`damaged`) if it cannot.
    public func validate() throws(KeyFileError) {
        do {
            _ = try handle.owner()
        } catch {
            guard isKnownKind else { return }
            throw KeyFileError(.damaged, "it is no \(algorithm) key", cause: error)
        }
    }

    /// The EVP_PKEY; `nil` if libcrypto rejects it.
    var usableHandle: OwnedPointer? {
        do {
            return try handle.owner()
        } catch {
            return nil
        }
    }

    /// Whether libcrypto must support the type of the key.
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
