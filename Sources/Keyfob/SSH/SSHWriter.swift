/// Writes the data types of RFC 4251 section 5.
package struct SSHWriter {
    /// The bytes so far.
    package private(set) var bytes: [UInt8] = []

    /// Creates a writer without bytes.
    package init() {}

    /// Appends a byte.
    package mutating func append(byte: UInt8) { bytes.append(byte) }

    /// Appends a uint32.
    package mutating func append(number: UInt32) {
        for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    /// Appends a string: its length as a uint32, then its bytes. It is shorter than 4 GiB.
    package mutating func append(string: some Collection<UInt8>) {
        append(number: UInt32(string.count))
        bytes += string
    }

    /// Appends a positive number in big-endian bytes as an mpint.
    ///
    /// Leading zeros are left out. A zero byte precedes a first byte with its high bit set, which would be the sign.
    package mutating func append(positive number: some Collection<UInt8>) {
        let digits = number.drop { $0 == 0 }
        append(string: (digits.first ?? 0) & 0x80 == 0 ? Array(digits) : [0] + digits)
    }
}
