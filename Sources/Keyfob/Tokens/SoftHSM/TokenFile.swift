import Foundation

/// SoftHSM's `token.object`: the token's label, its serial number, and the encrypted keys that its PINs open.
///
/// Layout (SoftHSM 2.6, all numbers 8 bytes, big endian): a counter, then for each attribute its type, its kind
/// (1 boolean, 2 number, 3 bytes) and its value; bytes begin with their count.
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
    /// What the PINs open: the salted and encrypted key of the token, once for each PIN; the user's is empty where none
    /// is set.
    let officerPIN, userPIN: [UInt8]
    private let name: [UInt8]
    private let flags: UInt64

    private enum Tag {
        static let label: UInt64 = 0x8000_5349
        static let serial: UInt64 = 0x8000_534A
        static let flags: UInt64 = 0x8000_534B
        static let securityOfficerPIN: UInt64 = 0x8000_534C
        static let userPIN: UInt64 = 0x8000_534D
    }

    /// CKF_USER_PIN_INITIALIZED.
    private static let userPINInitialized: UInt64 = 0x8

    /// CKF_USER_PIN_COUNT_LOW and CKF_SO_PIN_COUNT_LOW, the only ones that SoftHSM changes without setting a PIN.
    private static let warnings: UInt64 = 0x11_0000

    /// The longest file that is taken for a token's.
    static let maximumLength = 64 << 10

    /// Reads a whole file; `nil` when it is empty, cut off, or lacks what makes a token usable.
    ///
    /// A rewrite that was interrupted between two attributes is well-formed as far as it goes: hence
    /// the parts are required and not only the framing.
    init?(_ bytes: [UInt8]) {
        guard let values = Self.attributes(bytes) else { return nil }
        guard let label = values[Tag.label], let serial = values[Tag.serial],
            let officer = values[Tag.securityOfficerPIN], !officer.isEmpty,
            let flags = values[Tag.flags].flatMap(Self.number)
        else { return nil }
        let user = values[Tag.userPIN] ?? []
        hasUserPIN = flags & Self.userPINInitialized != 0
        guard !hasUserPIN || !user.isEmpty else { return nil }
        self.label = Self.text(label)
        self.serial = Self.text(serial)
        name = label + [0] + serial
        self.flags = flags
        (officerPIN, userPIN) = (officer, user)
        substance = label + [0] + serial + [hasUserPIN ? 1 : 0] + officer + user
    }

    /// Whether this differs from an earlier file of the same token as no program leaves it.
    ///
    /// SoftHSM writes the label and the serial number once, and changes no flags but its warnings unless it sets a PIN.
    /// By a new PIN all of what that PIN opens becomes another; a few bytes that differ are damage.
    func isDamaged(since earlier: TokenFile) -> Bool {
        guard !Self.isReplaced(officerPIN, earlier.officerPIN), !Self.isReplaced(userPIN, earlier.userPIN) else {
            return false
        }
        return name != earlier.name || (flags ^ earlier.flags) & ~Self.warnings != 0
            || officerPIN != earlier.officerPIN || userPIN != earlier.userPIN
    }

    /// Whether a program has set a PIN: random bytes have taken the place of random bytes, of which hardly one is as
    /// before. Zeros and the like are not random.
    private static func isReplaced(_ new: [UInt8], _ old: [UInt8]) -> Bool {
        guard new.count == old.count else { return true }
        guard !new.isEmpty else { return false }
        return zip(new, old).count { $0 == $1 } < new.count / 8 && Set(new).count > new.count / 2
    }

    /// The attributes by type; `nil` for a file that is empty or cut off.
    private static func attributes(_ bytes: [UInt8]) -> [UInt64: [UInt8]]? {
        var rest = bytes[...]
        func take(_ count: UInt64) -> [UInt8]? {
            guard count <= UInt64(rest.count) else { return nil }
            defer { rest.removeFirst(Int(count)) }
            return Array(rest.prefix(Int(count)))
        }
        guard take(8) != nil else { return nil }
        var attributes: [UInt64: [UInt8]] = [:]
        while !rest.isEmpty {
            guard let type = take(8).flatMap(number), let kind = take(8).flatMap(number) else { return nil }
            let count: UInt64? =
                switch kind {
                case 1: 1
                case 2: 8
                case 3: take(8).flatMap(number)
                default: nil
                }
            guard let value = count.flatMap(take) else { return nil }
            attributes[type] = value
        }
        return attributes
    }

    /// A number of 8 bytes; `nil` for anything else.
    private static func number(_ bytes: [UInt8]) -> UInt64? {
        bytes.count == 8 ? bytes.reduce(0) { $0 << 8 | UInt64($1) } : nil
    }

    private static func text(_ bytes: [UInt8]) -> String {
        var bytes = bytes[...]
        while let last = bytes.last, last == 0x20 || last == 0 { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}
