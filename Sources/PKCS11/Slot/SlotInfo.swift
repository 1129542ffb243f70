import CP11Kit

/// Information about a slot. Corresponds to `CK_SLOT_INFO`.
public struct SlotInfo: Sendable, Hashable {
    /// A description of the slot, for people.
    public let slotDescription: String
    /// The manufacturer of the slot.
    public let manufacturer: String
    /// Whether a token is in the slot. Corresponds to `CKF_TOKEN_PRESENT`.
    public let isTokenPresent: Bool
    /// Whether tokens can be inserted and removed. Corresponds to `CKF_REMOVABLE_DEVICE`.
    public let isRemovable: Bool
    /// Whether the slot is a device rather than software. Corresponds to `CKF_HW_SLOT`.
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
