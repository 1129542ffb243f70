import KeyfobPrimitives
package import PKCS11

/// What the token does differently from others.
extension TokenStore {
    /// The profile of the token and its library.
    ///
    /// Keyfob's own tokens are not asked. Others are asked once, since a URI names one token.
    ///
    /// - Throws: `PKCS11Error` if the token does not answer; errors of loading the module.
    package func profile() throws -> TokenProfile {
        if let known = knownProfile.withLock({ $0 }) { return known }
        let pool = try pool()
        let profile = try pool.module.profile(of: pool.tokenInfo())
        knownProfile.withLock { $0 = profile }
        return profile
    }
}
