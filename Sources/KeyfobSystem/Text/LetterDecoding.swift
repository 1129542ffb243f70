import KeyfobPrimitives

/// The decoding of RFC 4648, in which each letter stands for a fixed number of bits.
enum LetterDecoding {
    /// Returns the bytes that letters stand for.
    ///
    /// Bits of the last letter that fill no byte are ignored. No copy of the bytes stays in memory.
    ///
    /// - Parameters:
    ///   - bits: The bits of a letter: 5 in base32, 6 in base64.
    ///   - value: Returns the bits of a letter; `nil` for another character.
    /// - Returns: The bytes; `nil` for another character, and for a letter too many.
    @inline(__always)
    static func decode(
        _ letters: UnsafeRawBufferPointer, bits: Int, value: (UInt8) -> UInt32?
    ) -> SecretBytes? {
        guard letters.count * bits % 8 < bits else { return nil }
        var isText = true
        let decoded = unsafe SecretBytes(count: letters.count * bits / 8) { target in
            var (group, filled, place) = (UInt32(0), 0, 0)
            for unsafe letter in unsafe letters {
                guard let value = value(letter) else {
                    isText = false
                    return
                }
                // At most 7 bits are left from the letters before.
                group = (group << UInt32(bits) | value) & 0xFFFF
                filled += bits
                guard filled >= 8 else { continue }
                filled -= 8
                unsafe target[place] = UInt8(truncatingIfNeeded: group >> UInt32(filled))
                place += 1
            }
        }
        return isText ? decoded : nil
    }
}
