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
