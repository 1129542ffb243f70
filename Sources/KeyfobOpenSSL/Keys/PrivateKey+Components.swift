import COpenSSL
public import Foundation
public import KeyfobPrimitives

extension PrivateKey {
    /// The numbers of a key for a PKCS#11 template. Big-endian, without leading zeros unless stated.
    public enum Components: Sendable {
        /// RSA: modulus, exponents, primes, CRT exponents and coefficient (RFC 8017 section 3.2).
        case rsa(
            n: Data, e: Data, d: SecretBytes, p: SecretBytes, q: SecretBytes, dp: SecretBytes, dq: SecretBytes,
            qinv: SecretBytes)
        /// EC: the curve, the scalar padded to the size of the field, the point as `04 || X || Y`.
        case ec(curve: NamedCurve, d: SecretBytes, point: Data)
        /// Ed25519: the 32-byte seed (RFC 8032 section 5.1.5).
        case ed25519(seed: SecretBytes)
    }

    /// Returns the numbers of this key.
    ///
    /// - Throws: `CryptoError` (`unsupportedKey`) for other types and for RSA keys with more than two primes;
    ///   `OpenSSLError` for an RSA key without its primes.
    public func components() throws -> Components {
        switch publicKey.algorithm {
        case .rsa:
            guard let n = publicKey.rsaModulus, let e = publicKey.rsaExponent else {
                throw CryptoError(.unsupportedKey, "the RSA key has no modulus")
            }
            // A token has attributes for two primes only, and would make wrong signatures.
            guard !isMultiPrime else {
                throw CryptoError(.unsupportedKey, "an RSA key of more than two primes")
            }
            return .rsa(
                n: n, e: e, d: try number("d"), p: try number("rsa-factor1"), q: try number("rsa-factor2"),
                dp: try number("rsa-exponent1"), dq: try number("rsa-exponent2"), qinv: try number("rsa-coefficient1"))
        case .ec(let curve):
            guard let bits = curve.bits else { throw CryptoError(.unsupportedKey, "unknown curve \(curve)") }
            return .ec(curve: curve, d: try number("priv", size: (bits + 7) / 8), point: publicKey.bits)
        case .ed25519:
            return .ed25519(seed: try unsafe SecretBytes(count: 32) { (output) throws(OpenSSLError) in
                var count = 32
                try unsafe handle.withPointer { (key) throws(OpenSSLError) in
                    try check("EVP_PKEY_get_raw_private_key", unsafe EVP_PKEY_get_raw_private_key(
                        key, output.baseAddress, &count))
                }
            })
        case .other:
            throw CryptoError(.unsupportedKey, "no components of \(publicKey.algorithm)")
        }
    }

    /// Whether it is an RSA key with more than two primes (RFC 8017 section 3.2), which tokens do not support.
    public var isMultiPrime: Bool {
        var found: OpaquePointer?
        let isThere = unsafe handle.withPointer { key in unsafe EVP_PKEY_get_bn_param(key, "rsa-factor3", &found) == 1 }
        unsafe BN_clear_free(found)
        ERR_clear_error()
        return isThere
    }

    private func number(_ name: String, size: Int? = nil) throws(OpenSSLError) -> SecretBytes {
        var found: OpaquePointer?
        try unsafe handle.withPointer { (key) throws(OpenSSLError) in
            try check("EVP_PKEY_get_bn_param", unsafe EVP_PKEY_get_bn_param(key, name, &found))
        }
        let number = try unsafe check("EVP_PKEY_get_bn_param", found)
        defer { unsafe BN_clear_free(number) }
        let count = size ?? Int((unsafe BN_num_bits(number) + 7) / 8)
        return try unsafe SecretBytes(count: count) { (output) throws(OpenSSLError) in
            guard unsafe BN_bn2binpad(number, output.baseAddress, Int32(count)) == Int32(count) else {
                throw OpenSSLError(draining: "BN_bn2binpad")
            }
        }
    }
}

extension PrivateKey {
    /// The PBKDF2 iterations for encrypting a key.
    public static let passphraseIterations = 100_000

    /// Returns unencrypted PKCS#8 in DER (RFC 5958).
    ///
    /// - Throws: `OpenSSLError` if libcrypto fails.
    public func pkcs8DER() throws -> SecretBytes {
        let information = try pkcs8()
        return try unsafe information.withPointer { information in
            try unsafe encodedSecret("i2d_PKCS8_PRIV_KEY_INFO") { unsafe i2d_PKCS8_PRIV_KEY_INFO(information, $0) }
        }
    }

    /// Returns PKCS#8 in PEM. With a passphrase it is encrypted with PBES2, AES-256-CBC and PBKDF2 with SHA-256.
    ///
    /// Blocks about 0.05 s with a passphrase.
    ///
    /// - Throws: `CryptoError` (`invalidInput`) for an empty passphrase, which would only seem to protect the key;
    ///   `OpenSSLError` if libcrypto fails.
    public func pkcs8PEM(passphrase: SecretBytes?) throws -> SecretBytes {
        guard let passphrase else { return PEM.encode(try pkcs8DER(), label: "PRIVATE KEY") }
        guard !passphrase.isEmpty else { throw CryptoError(.invalidInput, "the passphrase is empty") }
        let information = try pkcs8()
        let sealed = try unsafe information.withPointer { information in
            try unsafe passphrase.withUnsafeBytes { secret in
                try unsafe check("PKCS8_encrypt_ex", PKCS8_encrypt_ex(
                    -1, EVP_aes_256_cbc(), secret.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(secret.count),
                    nil, 0, Int32(Self.passphraseIterations), information, nil, nil))
            }
        }
        defer { unsafe X509_SIG_free(sealed) }
        let der = try unsafe encodedSecret("i2d_X509_SIG") { unsafe i2d_X509_SIG(sealed, $0) }
        return PEM.encode(der, label: "ENCRYPTED PRIVATE KEY")
    }

    /// Returns the traditional form of the key in DER: PKCS#1 for RSA, SEC 1 for EC.
    ///
    /// - Throws: `CryptoError` (`unsupportedKey`) for types without one; `OpenSSLError` if libcrypto fails.
    public func traditionalDER() throws -> SecretBytes {
        switch publicKey.algorithm {
        case .rsa, .ec: break
        default: throw CryptoError(.unsupportedKey, "\(publicKey.algorithm) keys exist in PKCS#8 only")
        }
        return try unsafe handle.withPointer { key in
            try unsafe encodedSecret("i2d_PrivateKey") { unsafe i2d_PrivateKey(key, $0) }
        }
    }

    /// Returns `traditionalDER()` in PEM, as OpenSSH and old servers require it.
    ///
    /// - Throws: `CryptoError` (`unsupportedKey`) for types without one; `OpenSSLError` if libcrypto fails.
    public func traditionalPEM() throws -> SecretBytes {
        let der = try traditionalDER()
        if case .ec = publicKey.algorithm { return PEM.encode(der, label: "EC PRIVATE KEY") }
        return PEM.encode(der, label: "RSA PRIVATE KEY")
    }

    private func pkcs8() throws(OpenSSLError) -> OwnedPointer {
        let pointer = try unsafe handle.withPointer { (key) throws(OpenSSLError) in
            try unsafe check("EVP_PKEY2PKCS8", EVP_PKEY2PKCS8(key))
        }
        return unsafe OwnedPointer(adopting: pointer) { unsafe PKCS8_PRIV_KEY_INFO_free($0) }
    }
}
