import PKCS11

/// Tokens that let everybody in.
extension Keychain {
    /// Whether the token wants a login. One that does not checks no PIN: it opens the keychain to whoever reaches it,
    /// and nothing locks that.
    ///
    /// Blocks for loading the module, except for a token that Keyfob made, which wants one. An NSS database whose
    /// password is empty is a token that wants none. Corresponds to `CKF_LOGIN_REQUIRED`.
    ///
    /// - Throws: `KeychainError`; `tokenAbsent`, `moduleNotLoaded`, and what the token refuses.
    package func wantsLogin() throws -> Bool {
        guard configuration.module != .softHSM else { return true }
        return try tokenInfo().flags.contains(.loginRequired)
    }

    /// - Throws: `KeychainError` where there is no PIN by which somebody could prove to be there.
    func requireLogin() throws {
        guard try !wantsLogin() else { return }
        throw KeychainError(
            .refused,
            "an item of keychain \"\(name)\" asks for somebody to be there, and token \"\(token.label)\" wants no PIN.",
            hint: "Set a PIN with the token's own tool, or add the item without the constraint.")
    }
}
