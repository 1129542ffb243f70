import COpenSSL
public import KeyfobPrimitives

/// AES in Galois/Counter Mode (NIST SP 800-38D) with one key, for many messages.
///
/// Nonces have 12 bytes and tags 16. A nonce must never be used twice with one key. Any number of threads may use one
/// value concurrently; no call blocks. The key is wiped when the last copy of the value is released.
public struct AESGCM: Sendable {
    /// The length of a nonce in bytes.
    public static let nonceCount = 12
    /// The length of a tag in bytes.
    public static let tagCount = 16

    // Fetched separately on first use, because most programs need only one of them.
    private static let aes128 = fetchCipher("AES-128-GCM")
    private static let aes192 = fetchCipher("AES-192-GCM")
    private static let aes256 = fetchCipher("AES-256-GCM")

    /// Fetches AES-256 now instead of on first use.
    static func prepare() { _ = aes256 }

    private let sealing: CipherPool
    private let opening: CipherPool
    private let nonceCount: Int

    /// Prepares a key of 16, 24 or 32 bytes.
    ///
    /// - Parameter nonceCount: The length of the nonces in bytes, 1 to 128. Only formats that prescribe it should use a
    ///   length other than 12, because longer nonces can collide after hashing.
    /// - Throws: `CryptoError` (`invalidKeyLength`) for a key of another length; `OpenSSLError` if libcrypto has no
    ///   AES.
    public init(key: SecretBytes, nonceCount: Int = Self.nonceCount) throws {
        precondition((1...128).contains(nonceCount), "libcrypto takes nonces of 1 to 128 bytes")
        self.nonceCount = nonceCount
        let known = switch key.count {
        case 16: Self.aes128
        case 24: Self.aes192
        case 32: Self.aes256
        default: throw CryptoError(.invalidKeyLength, "AES takes keys of 16, 24 or 32 bytes")
        }
        guard let cipher = known else { throw OpenSSLError(draining: "EVP_CIPHER_fetch") }
        sealing = CipherPool(cipher: cipher, key: key, nonceCount: nonceCount, encrypts: true)
        opening = CipherPool(cipher: cipher, key: key, nonceCount: nonceCount, encrypts: false)
    }

    /// Encrypts and authenticates bytes that are not secret by themselves.
    ///
    /// - Throws: `CryptoError` (`invalidNonceLength`, `invalidInput`); `OpenSSLError` if libcrypto fails.
    public func seal(
        _ plaintext: [UInt8], nonce: [UInt8], additionalData: [UInt8]
    ) throws -> (ciphertext: [UInt8], tag: [UInt8]) {
        try unsafe plaintext.withUnsafeBytes { try unsafe seal($0, nonce: nonce, additionalData: additionalData) }
    }

    /// Encrypts and authenticates a secret.
    ///
    /// - Throws: `CryptoError` (`invalidNonceLength`, `invalidInput`); `OpenSSLError` if libcrypto fails.
    public func seal(
        _ plaintext: SecretBytes, nonce: [UInt8], additionalData: [UInt8]
    ) throws -> (ciphertext: [UInt8], tag: [UInt8]) {
        try unsafe plaintext.withUnsafeBytes { try unsafe seal($0, nonce: nonce, additionalData: additionalData) }
    }

    /// Authenticates and decrypts to a secret.
    ///
    /// - Throws: `CryptoError`: `authenticationFailed` if key, nonce, additional data, ciphertext and tag do not match,
    ///   `invalidNonceLength`, `invalidInput`; `OpenSSLError` if libcrypto fails.
    public func open(
        ciphertext: [UInt8], tag: [UInt8], nonce: [UInt8], additionalData: [UInt8]
    ) throws -> SecretBytes {
        try unsafe SecretBytes(count: ciphertext.count) { output in
            try unsafe open(ciphertext, tag: tag, nonce: nonce, additionalData: additionalData, into: output)
        }
    }

    /// Authenticates and decrypts to ordinary bytes.
    ///
    /// - Throws: `CryptoError`: `authenticationFailed` if key, nonce, additional data, ciphertext and tag do not match,
    ///   `invalidNonceLength`, `invalidInput`; `OpenSSLError` if libcrypto fails.
    public func openBytes(
        ciphertext: [UInt8], tag: [UInt8], nonce: [UInt8], additionalData: [UInt8]
    ) throws -> [UInt8] {
        try unsafe [UInt8](unsafeUninitializedCapacity: max(1, ciphertext.count)) { output, count in
            let target = unsafe UnsafeMutableBufferPointer(rebasing: output[..<ciphertext.count])
            try unsafe open(ciphertext, tag: tag, nonce: nonce, additionalData: additionalData, into: target)
            count = ciphertext.count
        }
    }

    private func seal(
        _ plaintext: UnsafeRawBufferPointer, nonce: [UInt8], additionalData: [UInt8]
    ) throws -> (ciphertext: [UInt8], tag: [UInt8]) {
        try check(nonce: nonce, lengths: plaintext.count, additionalData.count)
        var tag = [UInt8](repeating: 0, count: Self.tagCount)
        let ciphertext = try unsafe sealing.withCipher { context in
            try KeyfobOpenSSL.check("EVP_EncryptInit_ex2", unsafe EVP_EncryptInit_ex2(context, nil, nil, nonce, nil))
            try unsafe Self.authenticate(additionalData, with: context)
            let result = try unsafe [UInt8](unsafeUninitializedCapacity: max(1, plaintext.count)) { output, count in
                var written: Int32 = 0
                if unsafe !plaintext.isEmpty {
                    try KeyfobOpenSSL.check("EVP_EncryptUpdate", unsafe EVP_EncryptUpdate(
                        context, output.baseAddress, &written,
                        plaintext.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(plaintext.count)))
                }
                count = plaintext.count
            }
            var rest: Int32 = 0
            try KeyfobOpenSSL.check("EVP_EncryptFinal_ex", unsafe EVP_EncryptFinal_ex(context, nil, &rest))
            try KeyfobOpenSSL.check("EVP_CIPHER_CTX_ctrl", unsafe EVP_CIPHER_CTX_ctrl(
                context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagCount), &tag))
            return result
        }
        return (ciphertext, tag)
    }

    private func open(
        _ ciphertext: [UInt8], tag: [UInt8], nonce: [UInt8], additionalData: [UInt8],
        into output: UnsafeMutableBufferPointer<UInt8>
    ) throws {
        try check(nonce: nonce, lengths: ciphertext.count, additionalData.count)
        guard tag.count == Self.tagCount else { throw CryptoError(.authenticationFailed, "a GCM tag has 16 bytes") }
        try unsafe opening.withCipher { context in
            try KeyfobOpenSSL.check("EVP_DecryptInit_ex2", unsafe EVP_DecryptInit_ex2(context, nil, nil, nonce, nil))
            try unsafe Self.authenticate(additionalData, with: context)
            var written: Int32 = 0
            if !ciphertext.isEmpty {
                try KeyfobOpenSSL.check("EVP_DecryptUpdate", unsafe EVP_DecryptUpdate(
                    context, output.baseAddress, &written, ciphertext, Int32(ciphertext.count)))
            }
            var expected = tag
            try KeyfobOpenSSL.check("EVP_CIPHER_CTX_ctrl", unsafe EVP_CIPHER_CTX_ctrl(
                context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagCount), &expected))
            var rest: Int32 = 0
            guard unsafe EVP_DecryptFinal_ex(context, nil, &rest) > 0 else {
                ERR_clear_error()
                throw CryptoError(.authenticationFailed, "the GCM tag does not fit")
            }
        }
    }

    private static func authenticate(_ additionalData: [UInt8], with context: OpaquePointer) throws(OpenSSLError) {
        guard !additionalData.isEmpty else { return }
        var written: Int32 = 0
        try KeyfobOpenSSL.check("EVP_CipherUpdate", unsafe EVP_CipherUpdate(
            context, nil, &written, additionalData, Int32(additionalData.count)))
    }

    private func check(nonce: [UInt8], lengths: Int...) throws(CryptoError) {
        guard nonce.count == nonceCount else {
            throw CryptoError(.invalidNonceLength, "a GCM nonce has \(nonceCount) bytes here")
        }
        // libcrypto counts in int, and one block is reserved for rounding.
        guard lengths.allSatisfy({ $0 < Int(Int32.max) - 16 }) else {
            throw CryptoError(.invalidInput, "one GCM message holds less than 2 GiB")
        }
    }
}

extension AESGCM {
    /// Encrypts one message with a key that is used only once.
    ///
    /// - Throws: `CryptoError` (`invalidKeyLength`, `invalidNonceLength`, `invalidInput`); `OpenSSLError` if libcrypto
    ///   fails.
    public static func seal(
        _ plaintext: SecretBytes, key: SecretBytes, nonce: [UInt8], additionalData: [UInt8]
    ) throws -> (ciphertext: [UInt8], tag: [UInt8]) {
        try AESGCM(key: key).seal(plaintext, nonce: nonce, additionalData: additionalData)
    }

    /// Encrypts one message that is not secret by itself with a key that is used only once.
    ///
    /// - Throws: `CryptoError` (`invalidKeyLength`, `invalidNonceLength`, `invalidInput`); `OpenSSLError` if libcrypto
    ///   fails.
    public static func seal(
        _ plaintext: [UInt8], key: SecretBytes, nonce: [UInt8], additionalData: [UInt8]
    ) throws -> (ciphertext: [UInt8], tag: [UInt8]) {
        try AESGCM(key: key).seal(plaintext, nonce: nonce, additionalData: additionalData)
    }

    /// Decrypts one message with a key that is used only once.
    ///
    /// - Throws: `CryptoError`: `authenticationFailed` if the inputs do not match, `invalidKeyLength`,
    ///   `invalidNonceLength`, `invalidInput`; `OpenSSLError` if libcrypto fails.
    public static func open(
        ciphertext: [UInt8], tag: [UInt8], nonce: [UInt8], additionalData: [UInt8], key: SecretBytes
    ) throws -> SecretBytes {
        try AESGCM(key: key).open(ciphertext: ciphertext, tag: tag, nonce: nonce, additionalData: additionalData)
    }
}
