import COpenSSL
public import KeyfobPrimitives

/// HKDF with SHA-256, extract and expand (RFC 5869).
///
/// Built on HMAC instead of EVP_KDF for the reasons given at ``HMACSHA256``.
public struct HKDF: Sendable {
    private init() {}

    /// Derives `count` bytes from the high-entropy `key`.
    ///
    /// - Throws: `CryptoError` (`invalidInput`) for an empty key, or a count outside 1 to 8160; `OpenSSLError` if
    ///   libcrypto fails.
    public static func derive(key: SecretBytes, salt: [UInt8], info: [UInt8], count: Int) throws -> SecretBytes {
        let limit = 255 * HMACSHA256.count
        guard !key.isEmpty, (1...limit).contains(count) else {
            throw CryptoError(.invalidInput, "HKDF takes a key and makes 1 to \(limit) bytes")
        }
        // A missing salt stands for a salt of zeros, which gives the same HMAC as an empty key.
        let pseudorandomKey = try HMACSHA256(key: SecretBytes(salt)).secretCode(for: key)
        let expanding = try HMACSHA256(key: pseudorandomKey)
        return try unsafe SecretBytes(count: count) { output in
            var block = SecretBytes([])
            var start = 0
            var number: UInt8 = 1
            while start < count {
                block = try expanding.secretCode(for: message(block, info, number))
                let length = min(block.count, count - start)
                let target = unsafe UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(output)[start...])
                unsafe block.prefix(length).withUnsafeBytes { unsafe target.copyMemory(from: $0) }
                start += length
                number &+= 1
            }
        }
    }

    /// Returns the input of one block: the previous block, the information and the number of the block.
    private static func message(_ block: SecretBytes, _ info: [UInt8], _ number: UInt8) -> SecretBytes {
        SecretBytes(joining: [block, SecretBytes(info), SecretBytes([number])])
    }
}

/// The key derivation function of ANSI X9.63 (SEC 1 section 3.6.1), used after a key agreement.
public struct X963KDF: Sendable {
    private init() {}

    /// The limit for one derivation in bytes. The count may come from a peer's message.
    public static let maximumCount = DigestKDF.maximumCount

    private static let function = DigestKDF(name: "X963KDF")

    /// Derives `count` bytes from the shared secret.
    ///
    /// - Throws: `CryptoError` (`invalidInput`) for an empty secret or a count outside 1 to `maximumCount`;
    ///   `OpenSSLError` if libcrypto fails.
    public static func derive(
        secret: SecretBytes, sharedInfo: [UInt8], count: Int, digest: Digest
    ) throws -> SecretBytes {
        try function.derive(secret: secret, information: sharedInfo, count: count, digest: digest)
    }
}

/// The Concat KDF with SHA-256 (NIST SP 800-56A section 5.8.1), which JOSE uses after a key agreement.
package struct ConcatKDF: Sendable {
    private init() {}

    private static let function = DigestKDF(name: "SSKDF")

    /// Derives `count` bytes from the shared secret.
    ///
    /// - Throws: `CryptoError` (`invalidInput`) for an empty secret or a count below 1; `OpenSSLError` if libcrypto
    ///   fails.
    package static func derive(secret: SecretBytes, otherInfo: [UInt8], count: Int) throws -> SecretBytes {
        try function.derive(secret: secret, information: otherInfo, count: count, digest: .sha256)
    }
}

/// A KDF of libcrypto that hashes a secret, a counter and public information.
private struct DigestKDF: Sendable {
    static let maximumCount = 1 << 24

    private let name: String
    private let algorithm: OwnedPointer?

    init(name: String) {
        self.name = name
        algorithm = unsafe EVP_KDF_fetch(nil, name, nil).map { kdf in
            unsafe OwnedPointer(adopting: kdf) { unsafe EVP_KDF_free($0) }
        }
    }

    func derive(secret: SecretBytes, information: [UInt8], count: Int, digest: Digest) throws -> SecretBytes {
        guard !secret.isEmpty, (1...Self.maximumCount).contains(count) else {
            throw CryptoError(.invalidInput, "\(name) takes a secret and makes 1 to \(Self.maximumCount) bytes")
        }
        guard let algorithm else { throw OpenSSLError(draining: "EVP_KDF_fetch") }
        return try unsafe SecretBytes(count: count) { (output) throws(OpenSSLError) in
            try unsafe algorithm.withPointer { (kdf) throws(OpenSSLError) in
                try unsafe secret.withUnsafeBytes { (secret) throws(OpenSSLError) in
                    try check("EVP_KDF_derive", unsafe keyfob_kdf(
                        kdf, digest.name, secret.baseAddress, secret.count, information, information.count,
                        output.baseAddress, count))
                }
            }
        }
    }
}

/// scrypt, the memory-hard key derivation for passphrases (RFC 7914).
public struct Scrypt: Sendable {
    private init() {}

    /// The limit for the memory of one derivation: 1 GiB. The parameters may come from a file that was tampered with.
    public static let memoryLimit = 1 << 30

    /// Derives `count` bytes from a passphrase.
    ///
    /// Blocks as long as the parameters require, so call it on a thread that may block. It uses 128 times `n` times `r`
    /// bytes.
    ///
    /// - Throws: `CryptoError` (`invalidInput`) if `n` is not a power of two above 1, another parameter is below 1, or
    ///   the memory exceeds `memoryLimit`; `OpenSSLError` if memory runs out.
    public static func derive(
        passphrase: SecretBytes, salt: [UInt8], n: Int, r: Int, p: Int, count: Int
    ) throws -> SecretBytes {
        let limit = memoryLimit / 128
        guard n > 1, n & (n - 1) == 0, r >= 1, p >= 1, count >= 1, n <= limit, r <= limit / n, p <= limit / r / 4 else {
            throw CryptoError(.invalidInput, "scrypt parameters out of range")
        }
        return try unsafe SecretBytes(count: count) { (output) throws(OpenSSLError) in
            try unsafe passphrase.withUnsafeBytes { (secret) throws(OpenSSLError) in
                try check("EVP_PBE_scrypt", unsafe EVP_PBE_scrypt(
                    secret.baseAddress?.assumingMemoryBound(to: CChar.self), secret.count, salt, salt.count,
                    UInt64(n), UInt64(r), UInt64(p), UInt64(2 * memoryLimit), output.baseAddress, count))
            }
        }
    }
}
