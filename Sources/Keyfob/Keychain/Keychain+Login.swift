import PKCS11

/// Tokens without a PIN.
extension Keychain {
    /// Whether the token needs a login.
    ///
    /// A token that does not need one checks no PIN: the keychain is open to any process that can access the token, and
    /// cannot be locked. An example is an NSS database with an empty password. Corresponds to `CKF_LOGIN_REQUIRED`.
    ///
    /// Blocks for loading the module, except for a token created by Keyfob, which always needs a login.
    ///
    /// - Returns: Whether it needs one.
    /// - Throws: `KeychainError`; `tokenAbsent`, `moduleNotLoaded`, and errors of the token.
    package func wantsLogin() throws -> Bool {
        guard configuration.module != .softHSM else { return true }
        return try tokenInfo().flags.contains(.loginRequired)
    }

    /// Checks that there is a PIN by which a person can prove presence.
    ///
    /// - Throws: `KeychainError` with code `refused` if the token needs no login.
    func requireLogin() throws {
        guard try !wantsLogin() else { return }
        throw KeychainError(
            .refused,
            "an item of keychain \"\(name)\" requires the presence of a person, and token "
                + "\"\(token.label)\" wants no PIN.",
            hint: "Set a PIN with the token's own tool, or add the item without the constraint.")
    }
}
