public import PKCS11

/// The status of a keychain.
extension Keychain {
    /// The information that the keychain's token reports about itself.
    ///
    /// Blocks while the module is loaded. Needs no login. Corresponds to `C_GetTokenInfo`.
    ///
    /// - Throws: `KeychainError`; `tokenAbsent`, `moduleNotLoaded`, and the errors of the token.
    @available(*, noasync, message: "use the asynchronous form")
    public func tokenInfo() throws -> TokenInfo {
        try withDeadline { [self] in
            do { return try token.info() } catch let error as PKCS11Error {
                throw token.refusal(error, .read)
            }
        }
    }

    /// Checks that the token is present and that its key opens the vault, without asking the user.
    ///
    /// Blocks for at most a login and two token operations.
    ///
    /// - Returns: Whether the vault was opened; `false` if only the user can unlock the keychain, so that only the
    ///   presence of the token was checked.
    /// - Throws: `KeychainError`; `tokenAbsent`, `wrappingKeyMissing`, `vaultDamaged`, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func checkOpening() throws -> Bool {
        try withDeadline { [self] in
            _ = try tokenInfo()
            guard try keysIfUnlocked() != nil else { return false }
            _ = try unwrapMetadataKey()
            return true
        }
    }

    /// The number of passwords in the vault, generic and internet passwords.
    ///
    /// Blocks for two queries.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`, and `vaultDamaged`, also if another program has added or
    ///   removed items.
    @available(*, noasync, message: "use the asynchronous form")
    public func passwordCount() throws -> Int {
        try withDeadline { [self] in
            let keys = try vaultKeys()
            return try store.read(keys.tree) { reader in
                let (count, recorded) = (try reader.rowCount(), try reader.recordedRowCount())
                guard count == recorded else {
                    throw KeychainError(
                        .vaultDamaged,
                        "the vault has \(count) items where Keyfob left \(recorded): another program has changed it.",
                        hint: "Restore the vault from a backup.", details: ["reason": "replayed"])
                }
                return try [ItemClass.genericPassword, .internetPassword].reduce(0) { count, itemClass in
                    try count + reader.rowCount(classDigest: keys.digest(of: itemClass))
                }
            }
        }
    }
}

extension Keychain {
    /// The label of the keychain's token.
    public var tokenLabel: String { token.label }
}
