import KeyfobPrimitives

/// Hides the length of a secret among its like.
///
/// The padded form is the secret, zero bytes, and the secret's length in the last four bytes,
/// big-endian. The whole is a multiple of 64 bytes up to 1 KiB; above, its length is rounded up so that
/// only the highest five significant bits say something, which costs 6% at the most.
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

    /// The secret without its padding, or `nil` where the length does not fit: the row was written wrongly.
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
