import COpenSSL

/// The library as a whole.
public enum LibCrypto {
    /// Initialises libcrypto, including what SoftHSM requires at initialization and login, and what opening a vault
    /// requires.
    ///
    /// Reading the configuration, seeding the generator and listing the algorithms takes milliseconds. A short-lived
    /// process can run this on a spare thread, so that the first use need not wait for it. A concurrent first use
    /// blocks until the initialization is complete; repeated calls have no effect. The call reads the environment,
    /// which no other thread may change meanwhile.
    ///
    /// It calls OPENSSL_init_crypto(3), RAND_bytes(3), EVP_MD_fetch(3) and EVP_CIPHER_fetch(3).
    public static func initialize() {
        let options = OPENSSL_INIT_ENGINE_RDRAND | OPENSSL_INIT_LOAD_CRYPTO_STRINGS | OPENSSL_INIT_ADD_ALL_CIPHERS
            | OPENSSL_INIT_ADD_ALL_DIGESTS | OPENSSL_INIT_LOAD_CONFIG
        // Failures are ignored here; the first use reports them.
        _ = OPENSSL_init_crypto(UInt64(options), nil)
        var byte: UInt8 = 0
        _ = unsafe RAND_bytes(&byte, 1)
        HMACSHA256.prepare()
        AESGCM.prepare()
    }
}
