/// Decodes text and counts of Cryptoki's info structures.
enum FixedField {
    /// Returns the text of a field that is padded with blanks and has no terminator (PKCS#11 2.40, 3.1).
    ///
    /// Trailing zero bytes are removed too, since some modules pad with them. Bytes that are not UTF-8 are replaced.
    static func text<Field>(_ field: Field) -> String {
        unsafe withUnsafeBytes(of: field) { bytes in
            var count = bytes.count
            while count > 0, unsafe bytes[count - 1] == 0x20 || bytes[count - 1] == 0 { count -= 1 }
            return unsafe String(decoding: bytes.prefix(count), as: UTF8.self)
        }
    }

    /// Returns a count, or `nil` for `CK_UNAVAILABLE_INFORMATION` and for values that do not fit into an `Int`.
    static func count(_ value: UInt) -> Int? {
        Int(exactly: value)
    }
}
