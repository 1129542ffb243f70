/// The TLS identities of a keychain: certificates with their private keys on the token.
public struct KeychainIdentities: Sendable {
    package let keychain: Keychain
}

extension Keychain {
    /// The identities: import, creation, renewal, versions and checks.
    public var identities: KeychainIdentities { KeychainIdentities(keychain: self) }
}
