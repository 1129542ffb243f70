import Glibc
import Keyfob

/// The engine through which OpenSSL before version 4 reaches PKCS#11 tokens: libp11's.
enum OpenSSLEngine {
    /// Where it is installed; `nil` where it is not.
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

    /// Where it is installed, for a program that cannot do without.
    ///
    /// - Throws: `KeychainError.moduleNotLoaded` where it is not.
    static func required(by program: String) throws -> String {
        guard let path else {
            throw KeychainError(
                .moduleNotLoaded,
                "OpenSSL's pkcs11 engine is not installed, by which \(program) reaches tokens here.",
                hint: "Install it: apt install libengine-pkcs11-openssl")
        }
        return path
    }

    /// The error for a token with an Ed25519 key beside the one that is meant; `nil` where there is none.
    ///
    /// libp11 gives up on the private keys of a token altogether at the first whose kind it does not know.
    static func obstacle(on use: TokenUse) -> KeychainError? {
        guard let first = use.edwardsKeys.first else { return nil }
        return KeychainError(
            .mechanismUnsupported,
            "token \"\(use.tokenLabel)\" holds an Ed25519 private key, \"\(first)\", and beside one OpenSSL's pkcs11 "
                + "engine reaches no key of the token.",
            hint: "Put it in another keychain: keyfob keychain create NAME --unattended",
            details: ["token": use.tokenLabel, "key": first])
    }

    /// Says so after `--allow-mixed-keys` has put a key on a token on which programs now reach no key.
    ///
    /// - Throws: `KeychainError` where token or vault cannot be read, and as `Output.say(_:)`.
    static func warn(of keychain: Keychain, _ output: Output) throws {
        guard path != nil else { return }
        let keys = try keychain.find(.keys.keyClass(.private))
        guard let first = keys.first(where: { $0.keyType == .ed25519 }), keys.contains(where: { $0.keyType != .ed25519 })
        else { return }
        let token = Visible.text(keychain.tokenLabel)
        try output.say(
            """
            Note: token "\(token)" holds an Ed25519 key, "\(Visible.text(first.label ?? ""))": beside one OpenSSL's \
            pkcs11 engine (nginx, httpd, curl, libpq) reaches no key of it.
                  A keychain of its own would help: keyfob keychain create NAME --unattended
            """)
    }

    /// A configuration of OpenSSL that loads the engine and initialises it at the start.
    ///
    /// For programs that load a key from an engine without initialising it first, as nginx does.
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
