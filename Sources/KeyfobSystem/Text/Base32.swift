package import KeyfobPrimitives

/// The encoding of RFC 4648 section 6: five bits in each capital letter or digit.
package enum Base32 {
    /// Returns the bytes of a text without padding; `nil` for an invalid text.
    ///
    /// Unused bits of the last letter are ignored. No copy of the bytes stays in memory.
    package static func decode(_ text: SecretBytes) -> SecretBytes? {
        // The numbers of letters in which a last group of 1 to 4 bytes ends.
        guard [0, 2, 4, 5, 7].contains(text.count % 8) else { return nil }
        return unsafe text.withUnsafeBytes { letters -> SecretBytes? in
            var isText = true
            let decoded = unsafe SecretBytes(count: letters.count * 5 / 8) { target in
                var (group, filled, place) = (UInt32(0), 0, 0)
                for unsafe letter in unsafe letters {
                    guard let value = value(of: letter) else {
                        isText = false
                        return
                    }
                    group = (group << 5 | value) & 0xFFF
                    filled += 5
                    guard filled >= 8 else { continue }
                    filled -= 8
                    unsafe target[place] = UInt8(truncatingIfNeeded: group >> UInt32(filled))
                    place += 1
                }
            }
            return isText ? decoded : nil
        }
    }

    private static func value(of letter: UInt8) -> UInt32? {
        switch letter {
        case 0x41...0x5A: UInt32(letter - 0x41)
        case 0x32...0x37: UInt32(letter - 0x32 + 26)
        default: nil
        }
    }
}
