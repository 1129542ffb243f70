import Foundation

/// One element of DER (X.690): its tag, its content and the whole of it, as slices of the input.
struct DERElement {
    let tag: UInt8
    let content: ArraySlice<UInt8>
    let whole: ArraySlice<UInt8>

    /// The elements inside, of a constructed one.
    func children() throws(DERError) -> [DERElement] {
        var reader = DERReader(content)
        var result: [DERElement] = []
        while !reader.isAtEnd { result.append(try reader.next()) }
        return result
    }

    /// The octets of a BIT STRING that has no unused bits.
    func bitStringOctets() throws(DERError) -> ArraySlice<UInt8> {
        guard tag == DERTag.bitString, content.first == 0 else { throw DERError() }
        return content.dropFirst()
    }

    /// The value of an OBJECT IDENTIFIER.
    func objectIdentifier() throws(DERError) -> OID {
        guard tag == DERTag.objectIdentifier, let oid = OID(content: content) else { throw DERError() }
        return oid
    }

    /// The value of an INTEGER that fits and is not negative.
    func smallInteger() throws(DERError) -> Int {
        guard tag == DERTag.integer, !content.isEmpty, content.count <= 7, content[content.startIndex] < 0x80 else {
            throw DERError()
        }
        return content.reduce(0) { $0 << 8 | Int($1) }
    }
}

/// The tags that X.509 and the PKCS formats use.
enum DERTag {
    static let boolean: UInt8 = 0x01
    static let integer: UInt8 = 0x02
    static let bitString: UInt8 = 0x03
    static let octetString: UInt8 = 0x04
    static let null: UInt8 = 0x05
    static let objectIdentifier: UInt8 = 0x06
    static let utf8String: UInt8 = 0x0C
    static let printableString: UInt8 = 0x13
    static let teletexString: UInt8 = 0x14
    static let ia5String: UInt8 = 0x16
    static let utcTime: UInt8 = 0x17
    static let generalizedTime: UInt8 = 0x18
    static let universalString: UInt8 = 0x1C
    static let bmpString: UInt8 = 0x1E
    static let sequence: UInt8 = 0x30
    static let set: UInt8 = 0x31
}

/// The bytes are not DER, or not of the expected shape. Callers turn it into an error of their own.
struct DERError: Error {}

/// Reads elements one after another. Refuses what DER forbids: indefinite and over-long lengths.
struct DERReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }
    init(_ data: Data) { rest = [UInt8](data)[...] }

    var isAtEnd: Bool { rest.isEmpty }
    var nextTag: UInt8? { rest.first }

    /// The next element.
    mutating func next() throws(DERError) -> DERElement {
        guard let header = DERHeader(rest), header.total <= rest.count else { throw DERError() }
        let whole = rest.prefix(header.total)
        rest = rest.dropFirst(header.total)
        return DERElement(tag: header.tag, content: whole.dropFirst(header.count), whole: whole)
    }

    /// The next element, which has this tag.
    mutating func next(_ tag: UInt8) throws(DERError) -> DERElement {
        let element = try next()
        guard element.tag == tag else { throw DERError() }
        return element
    }

    /// The next element if it has this tag.
    mutating func nextIf(_ tag: UInt8) throws(DERError) -> DERElement? {
        guard nextTag == tag else { return nil }
        return try next()
    }

    /// The one element that `bytes` are.
    static func single(_ bytes: ArraySlice<UInt8>, tag: UInt8) throws(DERError) -> DERElement {
        var reader = DERReader(bytes)
        let element = try reader.next(tag)
        guard reader.isAtEnd else { throw DERError() }
        return element
    }
}

/// Tag and length at the start of an element; the content need not be there.
struct DERHeader {
    let tag: UInt8
    /// How many bytes tag and length take.
    let count: Int
    /// How many bytes the whole element takes.
    let total: Int

    init?(_ bytes: some Collection<UInt8>) {
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

/// Writes DER.
enum DERWriter {
    static func element(_ tag: UInt8, _ content: some Collection<UInt8>) -> [UInt8] {
        var result = header(tag, count: content.count)
        result += content
        return result
    }

    /// Tag and length of an element.
    static func header(_ tag: UInt8, count: Int) -> [UInt8] {
        guard count >= 0x80 else { return [tag, UInt8(count)] }
        let octets = lengthOctets(count)
        return [tag, 0x80 | UInt8(octets.count)] + octets
    }

    static func sequence(_ parts: [UInt8]...) -> [UInt8] { element(DERTag.sequence, parts.flatMap { $0 }) }
    static func sequence(of parts: [[UInt8]]) -> [UInt8] { element(DERTag.sequence, parts.flatMap { $0 }) }

    /// A SET OF: its elements stand in the order of their encodings (X.690 11.6).
    static func set(of parts: [[UInt8]]) -> [UInt8] {
        element(DERTag.set, parts.sorted { $0.lexicographicallyPrecedes($1) }.flatMap { $0 })
    }

    /// An INTEGER from the big-endian octets of a number that is not negative.
    static func unsignedInteger(_ magnitude: some Collection<UInt8>) -> [UInt8] {
        var octets = Array(magnitude.drop { $0 == 0 })
        if octets.first.map({ $0 >= 0x80 }) ?? true { octets.insert(0, at: 0) }
        return element(DERTag.integer, octets)
    }

    static func bitString(_ octets: some Collection<UInt8>) -> [UInt8] { element(DERTag.bitString, [0] + octets) }

    /// TRUE; DER leaves out what is FALSE where that is the default.
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
