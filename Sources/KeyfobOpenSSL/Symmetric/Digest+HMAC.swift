import COpenSSL
package import KeyfobPrimitives

extension Digest {
    /// Returns the HMAC (RFC 2104) of a message with this hash, in one call (EVP_Q_mac(3)).
    ///
    /// For many messages with one key, ``HMACSHA256`` is faster.
    ///
    /// - Throws: `OpenSSLError` if memory runs out.
    package func authenticationCode(of message: [UInt8], key: SecretBytes) throws(OpenSSLError) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: count)
        var made = 0
        let isMade = unsafe key.withUnsafeBytes { key in
            unsafe EVP_Q_mac(
                nil, "HMAC", nil, name, nil, key.baseAddress, key.count, message, message.count, &code, code.count,
                &made) != nil
        }
        guard isMade else { throw OpenSSLError(draining: "EVP_Q_mac") }
        return code
    }
}
