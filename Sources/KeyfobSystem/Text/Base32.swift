package import KeyfobPrimitives

/// The encoding of RFC 4648 section 6: five bits in each capital letter or digit.
package enum Base32 {
    /// Returns the bytes of a text without padding; `nil` for an invalid text.
    ///
    /// Unused bits of the last letter are ignored. No copy of the bytes stays in memory.
    package static func decode(_ text: SecretBytes) -> SecretBytes? {
        unsafe text.withUnsafeBytes { unsafe LetterDecoding.decode($0, bits: 5, value: value) }
    }

    private static func value(of letter: UInt8) -> UInt32? {
        switch letter {
        case 0x41...0x5A: UInt32(letter - 0x41)
        case 0x32...0x37: UInt32(letter - 0x32 + 26)
        default: nil
        }
    }
}
