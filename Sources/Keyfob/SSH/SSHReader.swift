/// Reads the data types of RFC 4251 section 5.
package struct SSHReader {
    /// The bytes end too early.
    package struct Truncation: Error {}

    private var rest: ArraySlice<UInt8>

    /// Reads from the beginning of `bytes`.
    package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// Whether everything was read.
    package var isAtEnd: Bool { rest.isEmpty }

    /// Reads a byte.
    ///
    /// - Throws: `Truncation`.
    package mutating func byte() throws(Truncation) -> UInt8 {
        guard let byte = rest.popFirst() else { throw Truncation() }
        return byte
    }

    /// Reads a uint32.
    ///
    /// - Throws: `Truncation`.
    package mutating func number() throws(Truncation) -> UInt32 {
        guard rest.count >= 4 else { throw Truncation() }
        defer { rest = rest.dropFirst(4) }
        return rest.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Reads a string: its length as a uint32, then its bytes.
    ///
    /// - Throws: `Truncation`.
    package mutating func string() throws(Truncation) -> ArraySlice<UInt8> {
        let count = Int(try number())
        guard count <= rest.count else { throw Truncation() }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }
}
