/// Tag and length at the start of an element; the content need not be there.
package struct DERHeader {
    package let tag: UInt8
    /// How many bytes tag and length take.
    package let count: Int
    /// How many bytes the whole element takes.
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
