public import PKCS11

/// What a keychain is at this moment, for people who ask how it stands.
extension Keychain {
    /// What the keychain's token says about itself.
    ///
    /// Blocks for loading the module. Needs no login. Corresponds to `C_GetTokenInfo`.
    ///
    /// - Throws: `KeychainError`; `tokenAbsent`, `moduleNotLoaded`, and what the token refuses.
    @available(*, noasync, message: "use the asynchronous form")
    public func tokenInfo() throws -> TokenInfo {
        do { return try token.info() } catch let error as PKCS11Error {
            throw token.refusal(error, .read)
        }
    }

    /// Checks that the token is there and that its key opens the vault, without asking anybody.
    ///
    /// Blocks for a login and two token operations at the most.
    ///
    /// - Returns: Whether the vault was opened; `false` where only a person could unlock the keychain, so that no more
    ///   than the token's presence is known.
    /// - Throws: `KeychainError`; `tokenAbsent`, `wrappingKeyMissing`, `vaultDamaged`, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func checkOpening() throws -> Bool {
        _ = try tokenInfo()
        guard try keysIfUnlocked() != nil else { return false }
        _ = try unwrapMetadataKey()
        return true
    }

    /// How many passwords the vault holds, generic and for servers.
    ///
    /// Blocks for two queries. - Throws: `KeychainError`; the errors of `unlock()`, and `vaultDamaged` also where
    /// another program has added or removed items.
    @available(*, noasync, message: "use the asynchronous form")
    public func passwordCount() throws -> Int {
        let keys = try keys()
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
