import KeyfobPrimitives

/// Padding that hides the length of a secret.
///
/// The padded form is the secret, zero bytes, and the secret's length in the last four bytes, big-endian. Its length is
/// a multiple of 64 bytes up to 1 KiB. Longer forms are rounded up so that only the five most significant bits of the
/// length vary, which costs 6% at most.
enum SecretPadding {
    /// The largest secret: 32 MiB.
    static let maximumCount = 32 << 20

    static func paddedCount(_ count: Int) -> Int {
        let needed = count + 4
        guard needed > 1024 else { return (needed + 63) / 64 * 64 }
        let magnitude = Int.bitWidth - 1 - needed.leadingZeroBitCount
        let step = 1 << (magnitude - 4)
        return (needed + step - 1) / step * step
    }

    static func pad(_ secret: SecretBytes) -> SecretBytes {
        let count = secret.count
        let zeros = SecretBytes(zeros: paddedCount(count) - count - 4)
        return SecretBytes(joining: [secret, zeros, SecretBytes(UInt32(count).bigEndianBytes)])
    }

    /// Returns the secret without its padding; `nil` if the length does not fit, because the row was written wrongly.
    static func unpad(_ padded: SecretBytes) -> SecretBytes? {
        let total = padded.count
        guard total >= 4 else { return nil }
        let count = unsafe padded.withUnsafeBytes { bytes in
            (total - 4..<total).reduce(0) { unsafe $0 << 8 | Int(bytes[$1]) }
        }
        guard count <= total - 4, paddedCount(count) == total else { return nil }
        return padded.prefix(count)
    }
}
