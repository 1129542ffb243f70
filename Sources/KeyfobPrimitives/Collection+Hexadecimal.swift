extension Collection<UInt8> {
    /// The bytes as hexadecimal digits, in lower case.
    @inlinable package var hexadecimal: String {
        let digits = StaticString("0123456789abcdef")
        return unsafe String(unsafeUninitializedCapacity: 2 * count) { text in
            var position = 0
            for byte in self {
                unsafe text[position] = unsafe digits.utf8Start[Int(byte >> 4)]
                unsafe text[position + 1] = unsafe digits.utf8Start[Int(byte & 15)]
                position += 2
            }
            return position
        }
    }
}
