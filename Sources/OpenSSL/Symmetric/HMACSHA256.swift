import COpenSSL
public import Foundation
public import KeyfobPrimitives

/// HMAC with SHA-256 under one key (RFC 2104), for many messages.
///
/// Keyed once; each message duplicates the keyed state, which is only read, so that any number of threads may use
/// one value. libcrypto wipes the state when the last copy goes.
public struct HMACSHA256: Sendable {
    private let keyed: OwnedPointer

    private static let algorithm: OwnedPointer? = {
        guard let mac = unsafe EVP_MAC_fetch(nil, "HMAC", nil) else { return nil }
        return unsafe OwnedPointer(adopting: mac) { unsafe EVP_MAC_free($0) }
    }()

    /// Prepares `key`, of any length.
    ///
    /// - Throws: `OpenSSLError` when libcrypto refuses the key or has no HMAC.
    public init(key: SecretBytes) throws(OpenSSLError) {
        guard let algorithm = Self.algorithm else { throw OpenSSLError(draining: "EVP_MAC_fetch") }
        let context = try unsafe key.withUnsafeBytes { (bytes) throws(OpenSSLError) in
            try unsafe algorithm.withPointer { (mac) throws(OpenSSLError) in
                // A null key means "keep the old one": an empty key needs an address.
                var nothing: UInt8 = 0
                return try unsafe withUnsafePointer(to: &nothing) { (empty) throws(OpenSSLError) in
                    let base = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? empty
                    return try unsafe check("EVP_MAC_init", keyfob_hmac_new(mac, "SHA2-256", base, bytes.count))
                }
            }
        }
        keyed = unsafe OwnedPointer(adopting: context) { unsafe EVP_MAC_CTX_free($0) }
    }

    /// The 32-byte code of `message`.
    ///
    /// - Throws: `OpenSSLError` when memory runs out.
    public func authenticationCode(for message: some ContiguousBytes) throws -> [UInt8] {
        try unsafe message.withUnsafeBytes { try unsafe code($0) }
    }

    /// The 32-byte code of `message`, for the hot path.
    ///
    /// - Throws: `OpenSSLError` when memory runs out.
    public func authenticationCode(for message: [UInt8]) throws -> [UInt8] {
        try unsafe message.withUnsafeBytes { try unsafe code($0) }
    }

    /// Whether `code` is the code of `message`, compared in constant time.
    ///
    /// - Throws: `OpenSSLError` when memory runs out.
    public func isValid(_ code: [UInt8], for message: some ContiguousBytes) throws -> Bool {
        constantTimeEqual(try authenticationCode(for: message), code)
    }

    private func code(_ bytes: UnsafeRawBufferPointer) throws(OpenSSLError) -> [UInt8] {
        let context = try unsafe keyed.withPointer { (template) throws(OpenSSLError) in
            try unsafe check("EVP_MAC_CTX_dup", EVP_MAC_CTX_dup(template))
        }
        defer { unsafe EVP_MAC_CTX_free(context) }
        if let base = bytes.baseAddress {
            try check("EVP_MAC_update", unsafe EVP_MAC_update(
                context, base.assumingMemoryBound(to: UInt8.self), bytes.count))
        }
        var result = [UInt8](repeating: 0, count: 32)
        var count = 0
        try check("EVP_MAC_final", unsafe EVP_MAC_final(context, &result, &count, 32))
        return result
    }
}
