/// One DER element (X.690): its tag, its content and the whole element, as slices of the input.
struct DERElement {
    let tag: UInt8
    let content: ArraySlice<UInt8>
    let whole: ArraySlice<UInt8>

    /// Returns the elements inside a constructed element.
    func children() throws(DERError) -> [DERElement] {
        var reader = DERReader(content)
        var result: [DERElement] = []
        while !reader.isAtEnd { result.append(try reader.next()) }
        return result
    }

    /// Returns the octets of a BIT STRING without unused bits.
    func bitStringOctets() throws(DERError) -> ArraySlice<UInt8> {
        guard tag == DERTag.bitString, content.first == 0 else { throw DERError() }
        return content.dropFirst()
    }

    /// Returns the value of an OBJECT IDENTIFIER.
    func objectIdentifier() throws(DERError) -> OID {
        guard tag == DERTag.objectIdentifier, let oid = OID(content: content) else { throw DERError() }
        return oid
    }

    /// Returns the value of an INTEGER that is not negative and has at most 7 bytes.
    func smallInteger() throws(DERError) -> Int {
        guard tag == DERTag.integer, !content.isEmpty, content.count <= 7, content[content.startIndex] < 0x80 else {
            throw DERError()
        }
        return content.reduce(0) { $0 << 8 | Int($1) }
    }
}
