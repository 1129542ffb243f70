import CP11Kit

/// What a module says about a slot. Corresponds to `CK_SLOT_INFO`.
public struct SlotInfo: Sendable, Hashable {
    /// What it is, for people.
    public let slotDescription: String
    /// Who made it.
    public let manufacturer: String
    /// Whether there is a token in it. Corresponds to `CKF_TOKEN_PRESENT`.
    public let isTokenPresent: Bool
    /// Whether tokens come and go. Corresponds to `CKF_REMOVABLE_DEVICE`.
    public let isRemovable: Bool
    /// Whether it is a device rather than software. Corresponds to `CKF_HW_SLOT`.
    public let isHardware: Bool
    /// The version of the reader.
    public let hardwareVersion: Version
    /// The version of the reader's firmware.
    public let firmwareVersion: Version

    init(_ info: CK_SLOT_INFO) {
        slotDescription = FixedField.text(info.slotDescription)
        manufacturer = FixedField.text(info.manufacturerID)
        isTokenPresent = info.flags & CKF_TOKEN_PRESENT != 0
        isRemovable = info.flags & CKF_REMOVABLE_DEVICE != 0
        isHardware = info.flags & CKF_HW_SLOT != 0
        hardwareVersion = Version(info.hardwareVersion)
        firmwareVersion = Version(info.firmwareVersion)
    }
}
