import CP11Kit

/// Information about a token. Corresponds to `CK_TOKEN_INFO`.
///
/// Identify a token by these values, never by its slot number, which changes. Include the label if two tokens of the
/// same model are in use, because some modules give every token the same serial number.
public struct TokenInfo: Sendable, Hashable {
    /// The name that `C_InitToken` gave it.
    public let label: String
    /// The manufacturer.
    public let manufacturer: String
    /// The model.
    public let model: String
    /// The serial number; all zeroes with NSS and tpm2.
    public let serialNumber: String
    /// The state that the token is in.
    public let flags: TokenFlags
    /// The number of sessions that this program has open; `nil` if the token does not report it.
    public let sessionCount: Int?
    /// The number of sessions that a program may have open; `nil` if it is unlimited or the token does not report it.
    public let maxSessionCount: Int?
    /// The permitted length of a PIN in bytes.
    public let pinLength: ClosedRange<Int>
    /// The version of the device.
    public let hardwareVersion: Version
    /// The version of the device's firmware.
    public let firmwareVersion: Version

    /// A URI that identifies the token by label, serial number, manufacturer and model.
    public var uri: PKCS11URI {
        var uri = PKCS11URI()
        uri.token = label
        uri.serial = serialNumber
        uri.manufacturer = manufacturer
        uri.model = model
        return uri
    }

    init(_ info: CK_TOKEN_INFO) {
        label = FixedField.text(info.label)
        manufacturer = FixedField.text(info.manufacturerID)
        model = FixedField.text(info.model)
        serialNumber = FixedField.text(info.serialNumber)
        flags = TokenFlags(rawValue: info.flags)
        sessionCount = FixedField.count(info.ulSessionCount)
        // 0 is CK_EFFECTIVELY_INFINITE.
        maxSessionCount = FixedField.count(info.ulMaxSessionCount).flatMap { $0 == 0 ? nil : $0 }
        let shortest = FixedField.count(info.ulMinPinLen) ?? 0
        pinLength = shortest...max(shortest, FixedField.count(info.ulMaxPinLen) ?? .max)
        hardwareVersion = Version(info.hardwareVersion)
        firmwareVersion = Version(info.firmwareVersion)
    }
}
