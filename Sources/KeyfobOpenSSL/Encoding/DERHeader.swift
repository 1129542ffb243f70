/// Tag and length at the start of an element. The content need not be present.
package struct DERHeader {
    package let tag: UInt8
    /// The number of bytes of tag and length.
    package let count: Int
    /// The number of bytes of the whole element.
    package let total: Int

    package init?(_ bytes: some Collection<UInt8>) {
        var iterator = bytes.makeIterator()
        guard let tag = iterator.next(), tag & 0x1F != 0x1F, let first = iterator.next() else { return nil }
        self.tag = tag
        if first < 0x80 {
            count = 2
            total = 2 + Int(first)
            return
        }
        let size = Int(first & 0x7F)
        guard (1...4).contains(size) else { return nil }
        var length = 0
        for _ in 0..<size {
            guard let byte = iterator.next() else { return nil }
            length = length << 8 | Int(byte)
        }
        guard length >= 0x80, length >= 1 << (8 * (size - 1)) else { return nil }
        count = 2 + size
        total = count + length
    }
}
