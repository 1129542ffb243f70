import Glibc
import Keyfob
import PKCS11

/// The module through which other programs reach a token.
struct ProgramModule {
    /// The path of the module.
    let path: String
    /// Whether it is p11-kit's proxy, which gives the token's own module its parameters.
    let isProxy: Bool

    private static let proxyDirectories = [
        "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib/arm-linux-gnueabihf",
        "/usr/lib/riscv64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib", "/usr/local/lib64",
    ]

    /// Determines the module for the token of a keychain.
    ///
    /// - Throws: `KeychainError.mechanismUnsupported` if other programs cannot start the module; `moduleNotLoaded` if
    ///   p11-kit's proxy is not installed; errors of loading the module.
    init(of keychain: Keychain) throws {
        let module = try keychain.objects.slot().module
        guard module.profile.has(.needsParameters) else {
            if case .path(let path, _) = keychain.configuration.module { self.path = path } else { path = module.path }
            isProxy = false
            return
        }
        guard case .registered = keychain.configuration.module else {
            throw KeychainError(
                .mechanismUnsupported,
                "the module of token \"\(keychain.tokenLabel)\" does not start without parameters, which programs "
                    + "cannot give.",
                hint: "Register it with p11-kit, and make the keychain by its name there (--module NAME). Its .module "
                    + "file:\nmodule: \(module.path)\nx-init-reserved: PARAMETERS",
                details: ["token": keychain.tokenLabel, "module": module.path])
        }
        let paths = Self.proxyDirectories.map { $0 + "/p11-kit-proxy.so" }
        guard let proxy = paths.first(where: { unsafe access($0, R_OK) == 0 }) else {
            throw KeychainError(
                .moduleNotLoaded,
                "programs reach token \"\(keychain.tokenLabel)\" through p11-kit-proxy.so, which is not installed.",
                hint: "Install it: apt install libp11-kit0")
        }
        (path, isProxy) = (proxy, true)
    }
}

extension Program {
    /// The error for a token that the program cannot use, whatever its configuration; `nil` for others.
    static func obstacle(on profile: TokenProfile, token: String, module: String) -> KeychainError? {
        guard forksAfterLogin, profile.has(.losesTriesAfterFork) else { return nil }
        return KeychainError(
            .mechanismUnsupported,
            "\(name) forks after its login, and token \"\(token)\" takes that for wrong PINs until it locks itself.",
            hint: "Let a server of p11-kit use the token: p11-kit server --provider \(ShellWord.quoted(module)) "
                + "\(ShellWord.quoted("pkcs11:token=\(token)"))\n"
                + "Then make a keychain on it with --module p11-kit-client.so, and name that keychain here.",
            details: ["token": token])
    }
}
