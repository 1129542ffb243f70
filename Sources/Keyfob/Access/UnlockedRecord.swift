import CLinux
import Foundation
import KeyfobPrimitives

/// A payload of `UnlockedState` with its expiry, as stored in the kernel or in a file.
///
/// Layout: `KFU1`, 16 bytes of boot id, 8 bytes of expiry in seconds since boot (big endian; all ones for never),
/// payload. Seconds since boot, because the wall clock can be set back. The boot id, because a runtime directory that
/// is not in memory survives a reboot.
struct UnlockedRecord {
    let payload: SecretBytes
    private let bootIdentifier: [UInt8]
    private let end: UInt64

    private static let magic = Array("KFU1".utf8)
    private static let headerCount = 28

    /// Creates a record that expires `timeout` seconds from now; 0 for never.
    init(payload: SecretBytes, timeout: Int) {
        self.payload = payload
        bootIdentifier = Self.currentBoot
        end = timeout == 0 ? .max : Self.secondsSinceBoot + UInt64(timeout)
    }

    /// Decodes a record; `nil` for other bytes.
    init?(decoding bytes: SecretBytes) {
        guard bytes.count >= Self.headerCount else { return nil }
        let header = bytes.prefix(Self.headerCount).copyBytes()
        guard header.starts(with: Self.magic) else { return nil }
        bootIdentifier = Array(header[4..<20])
        end = header[20..<28].reduce(0) { $0 << 8 | UInt64($1) }
        payload = bytes.suffix(from: Self.headerCount)
    }

    var encoded: SecretBytes {
        let header = Self.magic + bootIdentifier + (0..<8).map { UInt8(truncatingIfNeeded: end >> (56 - 8 * $0)) }
        return SecretBytes(joining: [SecretBytes(header), payload])
    }

    var hasExpired: Bool {
        bootIdentifier != Self.currentBoot || Self.secondsSinceBoot >= end
    }

    var expiry: Date? {
        guard end != .max else { return nil }
        return Date(timeIntervalSinceNow: Double(end) - Double(Self.secondsSinceBoot))
    }

    private static var secondsSinceBoot: UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return UInt64(time.tv_sec)
    }

    /// The kernel's boot id; zeros if /proc does not provide it, and then boots are not distinguished.
    private static let currentBoot: [UInt8] = {
        let none = [UInt8](repeating: 0, count: 16)
        guard let file = OpenFile(path: "/proc/sys/kernel/random/boot_id", flags: O_RDONLY) else { return none }
        do {
            // 36 characters and a newline.
            guard let text = try file.read(limit: 64).prefix(36).copyString(), let uuid = UUID(uuidString: text) else {
                return none
            }
            return unsafe withUnsafeBytes(of: uuid.uuid) { unsafe Array($0) }
        } catch {
            return none
        }
    }()
}
