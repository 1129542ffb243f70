import COpenSSL

/// The library as a whole.
public enum LibCrypto {
    /// Initialises libcrypto, with what SoftHSM asks for at its own start and at a login, and what opens a vault.
    ///
    /// For whoever has a thread to spare in a process that wants to end soon: reading the configuration, seeding the
    /// generator and listing the algorithms takes milliseconds, which the first users pay else. One who comes meanwhile
    /// waits; again is harmless. Reads the environment, which nobody may change meanwhile.
    ///
    /// Stands for OPENSSL_init_crypto(3), RAND_bytes(3), EVP_MD_fetch(3) and EVP_CIPHER_fetch(3).
    public static func initialize() {
        let options = OPENSSL_INIT_ENGINE_RDRAND | OPENSSL_INIT_LOAD_CRYPTO_STRINGS | OPENSSL_INIT_ADD_ALL_CIPHERS
            | OPENSSL_INIT_ADD_ALL_DIGESTS | OPENSSL_INIT_LOAD_CONFIG
        // What cannot be initialised is reported by its first use.
        _ = OPENSSL_init_crypto(UInt64(options), nil)
        var byte: UInt8 = 0
        _ = unsafe RAND_bytes(&byte, 1)
        HMACSHA256.prepare()
        AESGCM.prepare()
    }
}
