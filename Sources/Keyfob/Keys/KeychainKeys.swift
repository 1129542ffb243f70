/// The keys of a keychain.
public struct KeychainKeys: Sendable {
    package let keychain: Keychain
}

extension Keychain {
    /// The keys: generation, import, export and use.
    public var keys: KeychainKeys { KeychainKeys(keychain: self) }
}
