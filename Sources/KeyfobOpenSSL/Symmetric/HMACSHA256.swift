import COpenSSL
public import Foundation
public import KeyfobPrimitives

/// HMAC with SHA-256 (RFC 2104) with one key, for many messages.
///
/// The states of both hashes after the key block are kept, and each message starts with copies of them. Any number of
/// threads may therefore use one value. libcrypto wipes the states when the last copy is released.
///
/// EVP_MAC is not used: it copies three states for each message, and its first use makes libcrypto list all its
/// algorithms. That takes a tenth of the time of a command that reads one secret.
public struct HMACSHA256: Sendable {
    /// The length of a code in bytes.
    public static let count = 32

    private static let blockCount = 64
    private static let algorithm: OwnedPointer? = {
        guard let digest = unsafe EVP_MD_fetch(nil, "SHA2-256", nil) else { return nil }
        return unsafe OwnedPointer(adopting: digest) { unsafe EVP_MD_free($0) }
    }()

    /// Fetches the hash now instead of on first use.
    static func prepare() { _ = algorithm }

    private let inner: OwnedPointer
    private let outer: OwnedPointer

    /// Prepares a key of any length.
    ///
    /// - Throws: `OpenSSLError` if libcrypto has no SHA-256 or memory runs out.
    public init(key: SecretBytes) throws(OpenSSLError) {
        guard let algorithm = Self.algorithm else { throw OpenSSLError(draining: "EVP_MD_fetch") }
        var key = key
        if key.count > Self.blockCount {
            let long = key
            key = try unsafe SecretBytes(count: Self.count) { (output) throws(OpenSSLError) in
                try unsafe algorithm.withPointer { (digest) throws(OpenSSLError) in
                    try unsafe long.withUnsafeBytes { (bytes) throws(OpenSSLError) in
                        try check("EVP_Digest", unsafe EVP_Digest(
                            bytes.baseAddress, bytes.count, output.baseAddress, nil, digest, nil))
                    }
                }
            }
        }
        inner = try Self.keyed(key, 0x36, algorithm)
        outer = try Self.keyed(key, 0x5C, algorithm)
    }

    /// Returns a hash state that has processed the key block, with each byte XORed with `pad`.
    private static func keyed(
        _ key: SecretBytes, _ pad: UInt8, _ algorithm: OwnedPointer
    ) throws(OpenSSLError) -> OwnedPointer {
        let block = unsafe SecretBytes(count: blockCount) { block in
            unsafe key.withUnsafeBytes { key in
                for index in block.indices {
                    unsafe block[index] = index < key.count ? unsafe key[index] ^ pad : pad
                }
            }
        }
        let context = try unsafe check("EVP_MD_CTX_new", EVP_MD_CTX_new())
        let owner = unsafe OwnedPointer(adopting: context) { unsafe EVP_MD_CTX_free($0) }
        try unsafe algorithm.withPointer { (digest) throws(OpenSSLError) in
            try check("EVP_DigestInit_ex2", unsafe EVP_DigestInit_ex2(context, digest, nil))
        }
        try unsafe block.withUnsafeBytes { (bytes) throws(OpenSSLError) in
            try check("EVP_DigestUpdate", unsafe EVP_DigestUpdate(context, bytes.baseAddress, bytes.count))
        }
        return owner
    }

    /// Returns the 32-byte code of `message`.
    ///
    /// - Throws: `OpenSSLError` if memory runs out.
    public func authenticationCode(for message: some ContiguousBytes) throws -> [UInt8] {
        try unsafe message.withUnsafeBytes { try unsafe code($0) }
    }

    /// Returns the 32-byte code of `message`; a faster variant for arrays.
    ///
    /// - Throws: `OpenSSLError` if memory runs out.
    public func authenticationCode(for message: [UInt8]) throws -> [UInt8] {
        try unsafe message.withUnsafeBytes { try unsafe code($0) }
    }

    /// Whether `code` is the code of `message`, compared in constant time.
    ///
    /// - Throws: `OpenSSLError` if memory runs out.
    public func isValid(_ code: [UInt8], for message: some ContiguousBytes) throws -> Bool {
        constantTimeEqual(try authenticationCode(for: message), code)
    }

    /// Returns the code of a secret, which is itself secret.
    package func secretCode(for message: SecretBytes) throws(OpenSSLError) -> SecretBytes {
        try unsafe SecretBytes(count: Self.count) { (output) throws(OpenSSLError) in
            try unsafe message.withUnsafeBytes { (bytes) throws(OpenSSLError) in
                try unsafe write(bytes, to: output.baseAddress)
            }
        }
    }

    private func code(_ bytes: UnsafeRawBufferPointer) throws(OpenSSLError) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: Self.count)
        try unsafe write(bytes, to: &result)
        return result
    }

    /// Writes the code of `bytes` to `output`, which has room for 32 bytes.
    private func write(_ bytes: UnsafeRawBufferPointer, to output: UnsafeMutablePointer<UInt8>?) throws(OpenSSLError) {
        let context = try unsafe check("EVP_MD_CTX_new", EVP_MD_CTX_new())
        defer { unsafe EVP_MD_CTX_free(context) }
        try unsafe inner.withPointer { (state) throws(OpenSSLError) in
            try check("EVP_MD_CTX_copy_ex", unsafe EVP_MD_CTX_copy_ex(context, state))
        }
        try check("EVP_DigestUpdate", unsafe EVP_DigestUpdate(context, bytes.baseAddress, bytes.count))
        try check("EVP_DigestFinal_ex", unsafe EVP_DigestFinal_ex(context, output, nil))
        try unsafe outer.withPointer { (state) throws(OpenSSLError) in
            try check("EVP_MD_CTX_copy_ex", unsafe EVP_MD_CTX_copy_ex(context, state))
        }
        try check("EVP_DigestUpdate", unsafe EVP_DigestUpdate(context, output, Self.count))
        try check("EVP_DigestFinal_ex", unsafe EVP_DigestFinal_ex(context, output, nil))
    }
}
