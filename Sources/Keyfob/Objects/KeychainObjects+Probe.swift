public import KeyfobPrimitives
public import PKCS11

extension TokenProbe {
    /// Probes the token in a slot. Blocks for some seconds.
    ///
    /// - Parameters:
    ///   - slot: The slot.
    ///   - pin: The PIN; `nil` to try only what needs no login.
    /// - Throws: `KeychainError` if the token is absent or refuses the PIN; `timedOut`.
    public init(of slot: Slot, pin: SecretBytes?) throws {
        try self.init(of: slot, pin: pin, storedIn: nil, allowsFinalTry: false)
    }

    /// Probes the token in a slot, with a PIN whose source is known. Blocks for some seconds.
    ///
    /// - Parameters:
    ///   - slot: The slot.
    ///   - pin: The PIN; `nil` to try only what needs no login.
    ///   - source: The source that gives the same PIN the next time; `nil` for a PIN that a person typed.
    ///   - allowsFinalTry: Whether to send the PIN even if another wrong one would block the token.
    /// - Throws: `KeychainError` if the token is absent or refuses the PIN; `pinRemembered` for a stored PIN that was
    ///   refused before; `timedOut`.
    package init(of slot: Slot, pin: SecretBytes?, storedIn source: PINSource?, allowsFinalTry: Bool) throws {
        let info: TokenInfo
        do { info = try slot.tokenInfo() } catch {
            throw KeychainError.token(error, .read, token: "in slot \(slot.id)")
        }
        var configuration = SessionPool.Configuration()
        configuration.allowFinalTry = allowsFinalTry
        let store = TokenStore(
            uri: info.uri, softHSM: nil, configuration: configuration,
            memory: WrongPINMemory(directories: Directories()), openModule: { slot.module },
            pin: { pin.map { TokenPIN($0, storedIn: source) } })
        try self.init(of: store)
    }
}

extension KeychainObjects {
    /// Probes the keychain's token. Blocks for some seconds. Unlocks the keychain.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`, and errors of the token.
    @available(*, noasync, message: "makes keys on the token; call it from a thread of your own")
    public func probe() throws -> TokenProbe {
        try keychain.withDeadline { [self] in
            _ = try keychain.vaultKeys()
            return try TokenProbe(of: keychain.token)
        }
    }
}
