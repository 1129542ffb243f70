import KeyfobPrimitives
package import PKCS11

/// The token of a keychain, by its configuration.
extension Keychains {
    /// Returns the token's information about itself, even if the vault cannot be opened.
    ///
    /// The call blocks while the module is loaded. It needs no login.
    ///
    /// - Throws: `KeychainError` with code `tokenAbsent`, `moduleNotLoaded`, `invalidConfiguration` if the token's URI
    ///   cannot be read, or the code of an error of the token.
    package func tokenInfo(
        of configuration: KeychainConfiguration, options: Keychain.Options = .init()
    ) throws -> TokenInfo {
        let token = try token(of: configuration, tokenURI(of: configuration), options) { nil }
        do { return try token.info() } catch let error as PKCS11Error { throw token.refusal(error, .read) }
    }

    /// Returns the URI of a keychain's token.
    ///
    /// - Throws: `KeychainError` with code `invalidConfiguration` if the URI cannot be read.
    func tokenURI(of configuration: KeychainConfiguration) throws(KeychainError) -> PKCS11URI {
        do { return try PKCS11URI(configuration.token) } catch {
            throw KeychainError(
                .invalidConfiguration, "the token of keychain \"\(configuration.name)\" is not a PKCS#11 URI.",
                cause: error)
        }
    }

    /// Returns the store of a keychain's token, whose module is loaded by the first call that needs it.
    ///
    /// - Parameters:
    ///   - configuration: The keychain.
    ///   - uri: The token.
    ///   - options: The options of the open keychain.
    ///   - pin: Returns the PIN when the token requires a login; `nil` to read without one.
    func token(
        of configuration: KeychainConfiguration, _ uri: PKCS11URI, _ options: Keychain.Options,
        pin: @escaping @Sendable () throws -> TokenPIN?
    ) -> TokenStore {
        token(of: configuration, uri, options, keychain: configuration.name, pin: pin)
    }

    /// Returns the store of a token.
    ///
    /// - Parameters:
    ///   - configuration: The location of the module.
    ///   - uri: The token.
    ///   - options: The options of the open keychain.
    ///   - keychain: The name of the keychain; `nil` for a token without one.
    ///   - pin: Returns the PIN when the token requires a login; `nil` to read without one.
    func token(
        of configuration: KeychainConfiguration, _ uri: PKCS11URI, _ options: Keychain.Options, keychain: String?,
        pin: @escaping @Sendable () throws -> TokenPIN?
    ) -> TokenStore {
        let softHSM = softHSM
        var pool = SessionPool.Configuration()
        pool.deadline = options.timeout
        pool.allowFinalTry = options.allowsFinalTry
        pool.slowCallNotice = options.slowCallNotice
        pool.followsSerialNumber = true
        return TokenStore(
            uri: uri, softHSM: configuration.module == .softHSM ? softHSM : nil, configuration: pool,
            memory: WrongPINMemory(directories: directories), keychain: keychain, logger: options.logger,
            explain: { [self] in explanation(of: $0, configuration) },
            openModule: {
                try Self.module(configuration.module, softHSM: softHSM, deadline: .after(options.timeout))
            },
            pin: pin)
    }
}
