/// The token's objects as other programs see them.
public struct KeychainObjects: Sendable {
    package let keychain: Keychain
}

extension Keychain {
    /// The objects on the token: URIs, contents and changes.
    public var objects: KeychainObjects { KeychainObjects(keychain: self) }
}
