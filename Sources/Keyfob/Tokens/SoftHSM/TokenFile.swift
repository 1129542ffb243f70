import Foundation

/// SoftHSM's `token.object`: what a token is called and the encrypted keys that its PINs open.
///
/// Layout (SoftHSM 2.6, all numbers 8 bytes, big endian): a generation counter, then for each attribute
/// its type, its kind (1 boolean, 2 number, 3 bytes, 4 attributes, 5 mechanisms) and its value. Only
/// token files are read here; other objects are SoftHSM's own business.
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
        var reader = Reader(bytes: bytes[...])
        guard reader.number() != nil else { return nil }
        var (label, serial, flags, officer, user): ([UInt8]?, [UInt8]?, [UInt8]?, [UInt8]?, [UInt8]?)
        while !reader.bytes.isEmpty {
            guard let type = reader.number(), let kind = reader.number() else { return nil }
            guard let value = reader.value(of: kind) else { return nil }
            switch type {
            case Tag.label: label = value
            case Tag.serial: serial = value
            case Tag.flags: flags = value
            case Tag.securityOfficerPIN: officer = value
            case Tag.userPIN: user = value
            default: break
            }
        }
        guard let label, let serial, let flags, let officer, !officer.isEmpty, flags.count == 8 else { return nil }
        let userPIN = user ?? []
        hasUserPIN = flags.reduce(0) { $0 << 8 | UInt64($1) } & Self.userPINInitialized != 0
        guard !hasUserPIN || !userPIN.isEmpty else { return nil }
        self.label = Self.text(label)
        self.serial = Self.text(serial)
        substance = label + [0] + serial + [hasUserPIN ? 1 : 0] + officer + userPIN
    }

    private static func text(_ bytes: [UInt8]) -> String {
        var bytes = bytes[...]
        while let last = bytes.last, last == 0x20 || last == 0 { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    private struct Reader {
        var bytes: ArraySlice<UInt8>

        mutating func number() -> UInt64? {
            guard let raw = take(8) else { return nil }
            return raw.reduce(0) { $0 << 8 | UInt64($1) }
        }

        mutating func value(of kind: UInt64) -> [UInt8]? {
            switch kind {
            case 1: return take(1)
            case 2: return take(8)
            case 3, 4:
                guard let count = number(), count <= UInt64(bytes.count) else { return nil }
                return take(Int(count))
            case 5:
                guard let count = number(), count <= UInt64(bytes.count / 8) else { return nil }
                return take(Int(count) * 8)
            default: return nil
            }
        }

        private mutating func take(_ count: Int) -> [UInt8]? {
            guard bytes.count >= count else { return nil }
            defer { bytes.removeFirst(count) }
            return Array(bytes.prefix(count))
        }
    }
}
