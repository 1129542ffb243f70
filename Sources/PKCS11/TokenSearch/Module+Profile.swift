extension Module {
    /// Returns the profile of a token of the module.
    public func profile(of token: TokenInfo) -> TokenProfile {
        var identity = identity
        (identity.manufacturer, identity.model) = (token.manufacturer, token.model)
        return TokenProfile(of: identity)
    }
}
