import COpenSSL
public import KeyfobPrimitives

/// AES key wrap: RFC 3394 (`A256KW` of JOSE), and with padding RFC 5649 (`CKM_AES_KEY_WRAP_KWP` of PKCS#11).
public struct AESKeyWrap: Sendable {
    private init() {}

    private static let ciphers = [
        16: fetchCipher("AES-128-WRAP"), 24: fetchCipher("AES-192-WRAP"), 32: fetchCipher("AES-256-WRAP"),
    ]
    private static let paddingCiphers = [
        16: fetchCipher("AES-128-WRAP-PAD"), 24: fetchCipher("AES-192-WRAP-PAD"), 32: fetchCipher("AES-256-WRAP-PAD"),
    ]

    /// Wraps `secret`, whose length is a multiple of 8 and at least 16. The result is 8 bytes longer.
    ///
    /// - Throws: `CryptoError` (`invalidKeyLength`, `invalidInput`); `OpenSSLError` if libcrypto fails.
    public static func wrap(_ secret: SecretBytes, key: SecretBytes) throws -> [UInt8] {
        guard secret.count >= 16, secret.count % 8 == 0, secret.count < 1 << 20 else {
            throw CryptoError(.invalidInput, "key wrap takes a multiple of 8 bytes, at least 16")
        }
        var output = [UInt8](repeating: 0, count: secret.count + 8)
        let written = try unsafe secret.withUnsafeBytes { source in
            try unsafe output.withUnsafeMutableBufferPointer { target in
                try unsafe run(ciphers, source, key: key, into: target, encrypts: true)
            }
        }
        guard written == output.count else { throw OpenSSLError(draining: "EVP_CipherUpdate") }
        return output
    }

    /// Unwraps the result of `wrap(_:key:)`.
    ///
    /// - Throws: `CryptoError`: `authenticationFailed` for a wrong key or modified bytes, `invalidKeyLength`,
    ///   `invalidInput`; `OpenSSLError` if libcrypto fails.
    public static func unwrap(_ wrapped: [UInt8], key: SecretBytes) throws -> SecretBytes {
        guard wrapped.count >= 24, wrapped.count % 8 == 0, wrapped.count < 1 << 20 else {
            throw CryptoError(.invalidInput, "a wrapped key is a multiple of 8 bytes, at least 24")
        }
        // libcrypto uses the output as a work area as long as the input.
        let whole = try unsafe SecretBytes(count: wrapped.count) { output in
            let written = try unsafe wrapped.withUnsafeBytes { source in
                try unsafe run(ciphers, source, key: key, into: output, encrypts: false)
            }
            guard written != nil else { throw refusal() }
        }
        return whole.prefix(wrapped.count - 8)
    }

    /// Wraps `secret` of at least 1 byte (RFC 5649). The result is a multiple of 8 bytes, at most 15 longer.
    ///
    /// - Throws: `CryptoError` (`invalidKeyLength`, `invalidInput`); `OpenSSLError` if libcrypto fails.
    public static func wrapPadded(_ secret: SecretBytes, key: SecretBytes) throws -> [UInt8] {
        guard secret.count >= 1, secret.count < 1 << 20 else {
            throw CryptoError(.invalidInput, "key wrap with padding takes at least 1 byte, and less than 1 MiB")
        }
        var output = [UInt8](repeating: 0, count: (secret.count + 7) / 8 * 8 + 8)
        let written = try unsafe secret.withUnsafeBytes { source in
            try unsafe output.withUnsafeMutableBufferPointer { target in
                try unsafe run(paddingCiphers, source, key: key, into: target, encrypts: true)
            }
        }
        guard written == output.count else { throw OpenSSLError(draining: "EVP_CipherUpdate") }
        return output
    }

    /// Unwraps the result of `wrapPadded(_:key:)` or of a token's `CKM_AES_KEY_WRAP_KWP` (RFC 5649).
    ///
    /// - Throws: `CryptoError`: `authenticationFailed` for a wrong key or modified bytes, `invalidKeyLength`,
    ///   `invalidInput`; `OpenSSLError` if libcrypto fails.
    public static func unwrapPadded(_ wrapped: [UInt8], key: SecretBytes) throws -> SecretBytes {
        guard wrapped.count >= 16, wrapped.count % 8 == 0, wrapped.count < 1 << 20 else {
            throw CryptoError(.invalidInput, "a wrapped key is a multiple of 8 bytes, at least 16")
        }
        var count = 0
        let whole = try unsafe SecretBytes(count: wrapped.count) { output in
            let written = try unsafe wrapped.withUnsafeBytes { source in
                try unsafe run(paddingCiphers, source, key: key, into: output, encrypts: false)
            }
            guard let written, written <= output.count else { throw refusal() }
            count = written
        }
        return whole.prefix(count)
    }

    private static func refusal() -> CryptoError {
        ERR_clear_error()
        return CryptoError(.authenticationFailed, "the wrapped key does not belong to this key")
    }

    /// Runs a cipher and returns the number of bytes it wrote; `nil` if it failed.
    private static func run(
        _ ciphers: [Int: OwnedPointer?], _ source: UnsafeRawBufferPointer, key: SecretBytes,
        into target: UnsafeMutableBufferPointer<UInt8>, encrypts: Bool
    ) throws -> Int? {
        guard let known = ciphers[key.count] else {
            throw CryptoError(.invalidKeyLength, "AES takes keys of 16, 24 or 32 bytes")
        }
        guard let cipher = known else { throw OpenSSLError(draining: "EVP_CIPHER_fetch") }
        let pointer = try unsafe check("EVP_CIPHER_CTX_new", EVP_CIPHER_CTX_new())
        defer { unsafe EVP_CIPHER_CTX_free(pointer) }
        // EVP requires this flag for the wrap modes, because their output is longer than the input.
        unsafe EVP_CIPHER_CTX_set_flags(pointer, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW)
        try unsafe cipher.withPointer { cipher in
            try unsafe key.withUnsafeBytes { key in
                try check("EVP_CipherInit_ex2", unsafe EVP_CipherInit_ex2(
                    pointer, cipher, key.baseAddress?.assumingMemoryBound(to: UInt8.self), nil, encrypts ? 1 : 0, nil))
            }
        }
        var written: Int32 = 0
        let result = unsafe EVP_CipherUpdate(
            pointer, target.baseAddress, &written, source.baseAddress?.assumingMemoryBound(to: UInt8.self),
            Int32(source.count))
        return result > 0 ? Int(written) : nil
    }
}
