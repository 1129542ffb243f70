/// Writes DER.
enum DERWriter {
    static func element(_ tag: UInt8, _ content: some Collection<UInt8>) -> [UInt8] {
        var result = header(tag, count: content.count)
        result += content
        return result
    }

    /// Returns the tag and length of an element.
    static func header(_ tag: UInt8, count: Int) -> [UInt8] {
        guard count >= 0x80 else { return [tag, UInt8(count)] }
        let octets = lengthOctets(count)
        return [tag, 0x80 | UInt8(octets.count)] + octets
    }

    static func sequence(_ parts: [UInt8]...) -> [UInt8] { element(DERTag.sequence, parts.flatMap { $0 }) }
    static func sequence(of parts: [[UInt8]]) -> [UInt8] { element(DERTag.sequence, parts.flatMap { $0 }) }

    /// Returns a SET OF, with its elements sorted by their encodings (X.690 section 11.6).
    static func set(of parts: [[UInt8]]) -> [UInt8] {
        element(DERTag.set, parts.sorted { $0.lexicographicallyPrecedes($1) }.flatMap { $0 })
    }

    /// Returns an INTEGER for the big-endian octets of a non-negative number.
    static func unsignedInteger(_ magnitude: some Collection<UInt8>) -> [UInt8] {
        var octets = Array(magnitude.drop { $0 == 0 })
        if octets.first.map({ $0 >= 0x80 }) ?? true { octets.insert(0, at: 0) }
        return element(DERTag.integer, octets)
    }

    static func bitString(_ octets: some Collection<UInt8>) -> [UInt8] { element(DERTag.bitString, [0] + octets) }

    /// TRUE. DER omits a FALSE that is the default.
    static let trueValue: [UInt8] = [DERTag.boolean, 1, 0xFF]

    private static func lengthOctets(_ count: Int) -> [UInt8] {
        var octets: [UInt8] = []
        var rest = count
        while rest > 0 {
            octets.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        }
        return octets
    }
}
