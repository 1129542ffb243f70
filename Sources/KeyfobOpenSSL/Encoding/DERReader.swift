import Foundation

/// Reads consecutive elements. Rejects indefinite and overlong lengths, which DER forbids.
struct DERReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }
    init(_ data: Data) { rest = [UInt8](data)[...] }

    var isAtEnd: Bool { rest.isEmpty }
    var nextTag: UInt8? { rest.first }

    /// Reads the next element.
    mutating func next() throws(DERError) -> DERElement {
        guard let header = DERHeader(rest), header.total <= rest.count else { throw DERError() }
        let whole = rest.prefix(header.total)
        rest = rest.dropFirst(header.total)
        return DERElement(tag: header.tag, content: whole.dropFirst(header.count), whole: whole)
    }

    /// Reads the next element, which must have this tag.
    mutating func next(_ tag: UInt8) throws(DERError) -> DERElement {
        let element = try next()
        guard element.tag == tag else { throw DERError() }
        return element
    }

    /// Reads the next element if it has this tag.
    mutating func nextIf(_ tag: UInt8) throws(DERError) -> DERElement? {
        guard nextTag == tag else { return nil }
        return try next()
    }

    /// Returns the single element that `bytes` consist of.
    static func single(_ bytes: ArraySlice<UInt8>, tag: UInt8) throws(DERError) -> DERElement {
        var reader = DERReader(bytes)
        let element = try reader.next(tag)
        guard reader.isAtEnd else { throw DERError() }
        return element
    }
}

/// The bytes are not DER, or not of the expected structure. Callers replace it by an error of their own.
struct DERError: Error {}
