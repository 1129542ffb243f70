/// The items on the token, and the changes to them.
package struct TokenItems: Sendable {
    package let keychain: Keychain
}

extension Keychain {
    /// The items on the token.
    package var tokenItems: TokenItems { TokenItems(keychain: self) }
}
