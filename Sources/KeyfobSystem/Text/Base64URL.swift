package import KeyfobPrimitives

/// The encoding of RFC 7515 section 2: base64 with URL-safe letters and no padding.
package enum Base64URL {
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// Returns the encoding of bytes.
    ///
    /// Every secret is encoded, and replacing `+`, `/` and `=` in Foundation's encoding costs a fresh process 0.3 ms.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let bytes = Array(bytes)
        let letters = letters
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var index = 0
        while index < bytes.count {
            let count = min(3, bytes.count - index)
            var group = UInt32(bytes[index]) << 16
            if count > 1 { group |= UInt32(bytes[index + 1]) << 8 }
            if count > 2 { group |= UInt32(bytes[index + 2]) }
            // A group of `count` bytes takes `count + 1` letters.
            for place in 0...count { text.append(letters[Int(group >> (18 - 6 * UInt32(place))) & 0x3F]) }
            index += 3
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the bytes of a text, with or without padding; `nil` for an invalid text.
    ///
    /// The letters `+` and `/` of RFC 4648 section 4 are accepted too. No copy of the bytes stays in memory.
    package static func decode(_ text: SecretBytes) -> SecretBytes? {
        unsafe text.withUnsafeBytes { bytes -> SecretBytes? in
            var count = bytes.count
            while count > 0, unsafe bytes[count - 1] == 0x3D { count -= 1 }
            guard bytes.count - count < 3 else { return nil }
            return unsafe LetterDecoding.decode(.init(rebasing: bytes.prefix(count)), bits: 6, value: value)
        }
    }

    private static func value(of letter: UInt8) -> UInt32? {
        switch letter {
        case 0x41...0x5A: UInt32(letter - 0x41)
        case 0x61...0x7A: UInt32(letter - 0x61 + 26)
        case 0x30...0x39: UInt32(letter - 0x30 + 52)
        case 0x2D, 0x2B: 62
        case 0x5F, 0x2F: 63
        default: nil
        }
    }
}
