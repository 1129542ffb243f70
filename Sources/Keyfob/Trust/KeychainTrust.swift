/// The certificates that a keychain trusts.
public struct KeychainTrust: Sendable {
    package let keychain: Keychain
}

extension Keychain {
    /// The trusted certificates.
    public var trust: KeychainTrust { KeychainTrust(keychain: self) }
}
