import Foundation

/// SoftHSM's `token.object`: the token's label, its serial number, and the encrypted keys that its PINs decrypt.
///
/// Layout (SoftHSM 2.6, all numbers 8 bytes, big endian): a counter, then for each attribute its type, its kind (1
/// boolean, 2 number, 3 bytes) and its value; bytes start with their count.
package struct TokenFile: Sendable, Equatable {
    /// The label, without padding.
    package let label: String
    /// The serial number, 16 hexadecimal digits.
    package let serial: String
    /// The bytes that change with a PIN, the label or the serial number, but not with the counter or the warnings about
    /// failed logins.
    package let substance: [UInt8]
    /// Whether a user PIN is set.
    package let hasUserPIN: Bool
    /// The salted and encrypted key of the token, once for each PIN. The user's is empty if no user PIN is set.
    package let officerPIN, userPIN: [UInt8]
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

    /// CKF_USER_PIN_COUNT_LOW and CKF_SO_PIN_COUNT_LOW, the only flags that SoftHSM changes without setting a PIN.
    private static let warnings: UInt64 = 0x11_0000

    /// The maximum length of a token file.
    package static let maximumLength = 64 << 10

    /// Parses a complete file; `nil` if it is empty or truncated, or lacks parts that make a token usable.
    ///
    /// A rewrite that was interrupted between two attributes leaves a well-formed prefix. So the required attributes
    /// are checked, not only the framing.
    package init?(_ bytes: [UInt8]) {
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

    /// Whether the difference from an earlier file of the same token can only be damage.
    ///
    /// SoftHSM writes the label and the serial number once, and without setting a PIN changes only its warning flags. A
    /// new PIN changes nearly all bytes of the encrypted key; a difference of a few bytes is damage.
    package func isDamaged(since earlier: TokenFile) -> Bool {
        guard !Self.isReplaced(officerPIN, earlier.officerPIN), !Self.isReplaced(userPIN, earlier.userPIN) else {
            return false
        }
        return name != earlier.name || (flags ^ earlier.flags) & ~Self.warnings != 0
            || officerPIN != earlier.officerPIN || userPIN != earlier.userPIN
    }

    /// Whether a program has set a PIN. Then random bytes replaced random bytes, and few of them are equal by chance.
    /// Runs of zeros, for example, are not random.
    private static func isReplaced(_ new: [UInt8], _ old: [UInt8]) -> Bool {
        guard new.count == old.count else { return true }
        guard !new.isEmpty else { return false }
        return zip(new, old).count { $0 == $1 } < new.count / 8 && Set(new).count > new.count / 2
    }

    /// Returns the bytes of a token file with another label; `nil` if it has no label of the usual length.
    ///
    /// The counter is increased, as SoftHSM does at each change, so that other processes read the file again.
    ///
    /// - Parameters:
    ///   - bytes: The file.
    ///   - label: The new label, of at most 32 bytes.
    package static func relabelled(_ bytes: [UInt8], _ label: String) -> [UInt8]? {
        let length = SoftHSMDirectory.longestLabel
        let header = bigEndian(Tag.label) + bigEndian(3) + bigEndian(UInt64(length))
        guard label.utf8.count <= length, let content = TokenFile(bytes), let counter = number(Array(bytes.prefix(8)))
        else { return nil }
        let places = bytes.indices.filter { bytes[$0...].starts(with: header) }
        guard places.count == 1, let place = places.first else { return nil }
        var changed = bytes
        let padded = Array(label.utf8) + [UInt8](repeating: 0x20, count: length - label.utf8.count)
        changed.replaceSubrange(place + header.count..<place + header.count + length, with: padded)
        changed.replaceSubrange(0..<8, with: bigEndian(counter &+ 1))
        let result = TokenFile(changed)
        return result?.label == label && result?.serial == content.serial ? changed : nil
    }

    private static func bigEndian(_ number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }

    /// The attributes by type; `nil` for a file that is empty or truncated.
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

    /// A number of 8 bytes; `nil` for another length.
    private static func number(_ bytes: [UInt8]) -> UInt64? {
        bytes.count == 8 ? bytes.reduce(0) { $0 << 8 | UInt64($1) } : nil
    }

    private static func text(_ bytes: [UInt8]) -> String {
        var bytes = bytes[...]
        while let last = bytes.last, last == 0x20 || last == 0 { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}
