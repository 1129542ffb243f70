/// The integrity of a keychain's vault and of its objects on the token.
public struct KeychainIntegrity: Sendable {
    package let keychain: Keychain
}

extension Keychain {
    /// Checks of the vault and of the objects on the token.
    public var integrity: KeychainIntegrity { KeychainIntegrity(keychain: self) }
}
