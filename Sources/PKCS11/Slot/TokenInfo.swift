import CP11Kit

/// What a token says about itself. Corresponds to `CK_TOKEN_INFO`.
///
/// Choose tokens by these words, never by the number of their slot, which changes; where two tokens of a kind are
/// in use, by the label too, for some modules give every token the same serial number.
public struct TokenInfo: Sendable, Hashable {
    /// The name that `C_InitToken` gave it.
    public let label: String
    /// Who made it.
    public let manufacturer: String
    /// What model it is.
    public let model: String
    /// Its serial number; all zeroes with NSS and tpm2.
    public let serialNumber: String
    /// What state it is in.
    public let flags: TokenFlags
    /// How many sessions this program has open; `nil` when the token does not tell.
    public let sessionCount: Int?
    /// How many sessions a program may have open; `nil` when there is no limit or the token does not tell.
    public let maxSessionCount: Int?
    /// How many bytes a PIN may have.
    public let pinLength: ClosedRange<Int>
    /// The version of the device.
    public let hardwareVersion: Version
    /// The version of its firmware.
    public let firmwareVersion: Version

    /// Names the token by label, serial number, manufacturer and model.
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
