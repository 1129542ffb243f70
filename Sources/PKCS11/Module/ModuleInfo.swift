import CP11Kit

/// What a module says about itself. Corresponds to `CK_INFO`.
///
/// p11-kit's proxy and its remote client answer with the same words: behaviour is better told by the token.
public struct ModuleInfo: Sendable, Hashable {
    /// The version of the Cryptoki interface that it implements.
    public let cryptokiVersion: Version
    /// Who made it, such as `SoftHSM`.
    public let manufacturer: String
    /// What it is, such as `Implementation of PKCS11`.
    public let libraryDescription: String
    /// The version of the module.
    public let libraryVersion: Version

    init(_ info: CK_INFO) {
        cryptokiVersion = Version(info.cryptokiVersion)
        manufacturer = FixedField.text(info.manufacturerID)
        libraryDescription = FixedField.text(info.libraryDescription)
        libraryVersion = Version(info.libraryVersion)
    }
}
