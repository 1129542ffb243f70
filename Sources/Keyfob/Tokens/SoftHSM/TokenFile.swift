import Foundation

/// SoftHSM's `token.object`: what a token is called and the encrypted keys that its PINs open.
///
/// See ``ObjectFile`` for the layout.
struct TokenFile: Sendable, Equatable {
    /// The label without its padding.
    let label: String
    /// The serial number, 16 hexadecimal digits.
    let serial: String
    /// What differs when a PIN, the label or the serial differs, and stays when only the counter or the
    /// warnings about failed logins do.
    let substance: [UInt8]
    /// Whether a user PIN is set.
    let hasUserPIN: Bool

    private enum Tag {
        static let label: UInt64 = 0x8000_5349
        static let serial: UInt64 = 0x8000_534A
        static let flags: UInt64 = 0x8000_534B
        static let securityOfficerPIN: UInt64 = 0x8000_534C
        static let userPIN: UInt64 = 0x8000_534D
    }

    /// CKF_USER_PIN_INITIALIZED.
    private static let userPINInitialized: UInt64 = 0x8

    /// The longest file that is taken for a token's.
    static let maximumLength = 64 << 10

    /// Reads a whole file; `nil` when it is empty, cut off, or lacks what makes a token usable.
    ///
    /// A rewrite that was interrupted between two attributes is well-formed as far as it goes: hence
    /// the parts are required and not only the framing.
    init?(_ bytes: [UInt8]) {
        guard let values = ObjectFile(bytes) else { return nil }
        guard let label = values[Tag.label], let serial = values[Tag.serial],
            let officer = values[Tag.securityOfficerPIN], !officer.isEmpty,
            let flags = values[Tag.flags].flatMap(ObjectFile.number)
        else { return nil }
        let user = values[Tag.userPIN] ?? []
        hasUserPIN = flags & Self.userPINInitialized != 0
        guard !hasUserPIN || !user.isEmpty else { return nil }
        self.label = Self.text(label)
        self.serial = Self.text(serial)
        substance = label + [0] + serial + [hasUserPIN ? 1 : 0] + officer + user
    }

    private static func text(_ bytes: [UInt8]) -> String {
        var bytes = bytes[...]
        while let last = bytes.last, last == 0x20 || last == 0 { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}
