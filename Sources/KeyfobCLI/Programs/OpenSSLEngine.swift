import Glibc
import Keyfob

/// libp11's engine, through which OpenSSL before version 4 uses PKCS#11 tokens.
enum OpenSSLEngine {
    /// The path of the engine; `nil` if it is not installed.
    static var path: String? {
        let directories =
            (Environment.nonEmpty("OPENSSL_ENGINES").map { [$0] } ?? []) + [
                "/usr/lib/x86_64-linux-gnu/engines-3", "/usr/lib/aarch64-linux-gnu/engines-3",
                "/usr/lib/arm-linux-gnueabihf/engines-3", "/usr/lib/riscv64-linux-gnu/engines-3",
                "/usr/lib64/engines-3",
                "/usr/lib/engines-3", "/usr/local/lib/engines-3", "/usr/local/lib64/engines-3",
            ]
        return directories.map { $0 + "/pkcs11.so" }.first { unsafe access($0, R_OK) == 0 }
    }

    /// The path of the engine, for a program that needs it.
    ///
    /// - Throws: `KeychainError.moduleNotLoaded` if it is not installed.
    static func required(by program: String) throws -> String {
        guard let path else {
            throw KeychainError(
                .moduleNotLoaded,
                "\(program) reaches tokens through OpenSSL's pkcs11 engine, which is not installed.",
                hint: "Install it: apt install libengine-pkcs11-openssl")
        }
        return path
    }

    /// The error for a token that has an Ed25519 key; `nil` if it has none.
    ///
    /// libp11 gives up on all private keys of a token at the first key of an unknown kind.
    static func obstacle(on use: TokenUse) -> KeychainError? {
        guard let first = use.edwardsKeys.first else { return nil }
        return KeychainError(
            .mechanismUnsupported,
            "token \"\(use.tokenLabel)\" has an Ed25519 private key, \"\(first)\"; OpenSSL's pkcs11 engine cannot use "
                + "any key on such a token.",
            hint: "Put it in another keychain: keyfob keychain create NAME --unattended",
            details: ["token": use.tokenLabel, "key": first])
    }

    /// Prints a note if the token has an Ed25519 key and other private keys, so that the engine fails for all of them.
    ///
    /// - Throws: `KeychainError` if the token or the vault cannot be read, or standard output cannot be written.
    static func warn(of keychain: Keychain, _ output: Output) throws {
        guard path != nil else { return }
        let keys = try keychain.find(.keys.keyClass(.private))
        guard let first = keys.first(where: { $0.keyType == .ed25519 }),
            keys.contains(where: { $0.keyType != .ed25519 })
        else { return }
        let token = TerminalSafe.text(keychain.tokenLabel)
        try output.say(
            """
            Note: token "\(token)" has an Ed25519 key, "\(TerminalSafe.text(first.label ?? ""))". OpenSSL's pkcs11 engine \
            (nginx, httpd, curl, libpq) cannot use any key on such a token.
                  Use a separate keychain: keyfob keychain create NAME --unattended
            """)
    }

    /// An OpenSSL configuration that loads and initialises the engine at startup.
    ///
    /// For programs that load a key from an engine without initialising it first, such as nginx.
    static func configuration(engine: String, module: String) -> String {
        """
        openssl_conf = openssl_init

        [openssl_init]
        engines = engine_section

        [engine_section]
        pkcs11 = pkcs11_section

        [pkcs11_section]
        engine_id = pkcs11
        dynamic_path = \(engine)
        MODULE_PATH = \(module)
        init = 1

        """
    }
}
