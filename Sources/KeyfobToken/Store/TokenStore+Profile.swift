package import PKCS11

/// The quirks of the token and its library.
extension TokenStore {
    /// The profile of the token and its library. Keyfob's own tokens are not asked.
    ///
    /// - Throws: `PKCS11Error` if the token does not answer; errors of loading the module.
    package func profile() throws -> TokenProfile {
        if softHSM != nil { return .ownTokens }
        let pool = try pool()
        return try pool.module.profile(of: pool.tokenInfo())
    }

    /// Whether a call of the module may wait for a device or another process, or the module is not loaded yet.
    package var mayWaitForOthers: Bool {
        softHSM == nil && loadedModule?.profile.has(.computesInProcess) != true
    }
}
