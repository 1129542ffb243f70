import CP11Kit

/// Information about a module. Corresponds to `CK_INFO`.
///
/// p11-kit's proxy and its remote client all give the same values, so use `TokenInfo` to tell tokens apart.
public struct ModuleInfo: Sendable, Hashable {
    /// The version of the Cryptoki interface that the module implements.
    public let cryptokiVersion: Version
    /// The manufacturer, such as `SoftHSM`.
    public let manufacturer: String
    /// The description, such as `Implementation of PKCS11`.
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
