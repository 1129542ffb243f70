import COpenSSL
public import KeyfobPrimitives

/// Random bytes from libcrypto's generators (RAND_bytes(3)), seeded by the kernel and safe across threads and forks.
public struct RandomBytes: Sendable {
    private init() {}

    /// Returns `count` bytes that may become public, such as a nonce.
    ///
    /// - Throws: `OpenSSLError` if the generator has no entropy.
    public static func bytes(count: Int) throws(OpenSSLError) -> [UInt8] {
        precondition(count >= 0, "a count is not negative")
        var result = [UInt8](repeating: 0, count: count)
        if count > 0 { try check("RAND_bytes", unsafe RAND_bytes_ex(nil, &result, count, 0)) }
        return result
    }

    /// Returns `count` bytes that must stay secret, such as a key (RAND_priv_bytes(3)).
    ///
    /// - Throws: `OpenSSLError` if the generator has no entropy.
    public static func secret(count: Int) throws(OpenSSLError) -> SecretBytes {
        precondition(count >= 0, "a count is not negative")
        return try unsafe SecretBytes(count: count) { (buffer) throws(OpenSSLError) in
            guard count > 0 else { return }
            try check("RAND_priv_bytes", unsafe RAND_priv_bytes_ex(nil, buffer.baseAddress, count, 0))
        }
    }
}
