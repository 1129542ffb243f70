package import KeyfobPrimitives

/// The JSON objects in a file or a pipe: one after the other, or the elements of one array.
///
/// Objects are read one by one, so the input may be larger than the memory. Its bytes are wiped, because they may
/// contain secrets.
package struct JSONObjectStream: ~Copyable {
    /// An object as it is written.
    package struct Object: Sendable {
        /// The text from `{` to `}`.
        package let text: SecretBytes
        /// The line on which the object begins, from 1 on.
        package let line: Int
    }

    /// The part of the input that is read next.
    private enum Place {
        /// The beginning: an object or an array.
        case beginning
        /// After an object that is not in an array: another one, or the end.
        case object
        /// After `[`: an element, or the end of the array.
        case firstElement
        /// After a comma: an element.
        case element
        /// After an element: a comma, or the end of the array.
        case separator
        /// After the array: the end.
        case end
    }

    private static let chunk = 65_536

    private let file: OpenFile
    private let limit: Int
    private let timeout: Duration?
    private var bytes = SecretBytes([])
    /// The index of the next byte in `bytes`.
    private var position = 0
    private var line = 1
    private var place = Place.beginning
    private var isAtEnd = false

    /// - Parameters:
    ///   - file: The input.
    ///   - limit: The largest size of an object.
    ///   - timeout: How long to wait for each part of a pipe; `nil` for no limit.
    package init(_ file: consuming OpenFile, limit: Int, timeout: Duration?) {
        self.file = file
        self.limit = limit
        self.timeout = timeout
    }

    /// Reads the next object. Blocks until a pipe has it.
    ///
    /// - Returns: `nil` at the end.
    /// - Throws: `KeychainError`; `unsupportedFormat` for other text than objects, `dataTooLarge` for an object beyond
    ///   the limit, `timedOut` and `fileUnavailable`.
    package mutating func next() throws(KeychainError) -> Object? {
        while let byte = try peek() {
            switch (byte, place) {
            case (0x0A, _): line += 1
            case (0x20, _), (0x0D, _), (0x09, _): break
            case (UInt8(ascii: "{"), .beginning), (UInt8(ascii: "{"), .object):
                place = .object
                return try object()
            case (UInt8(ascii: "{"), .firstElement), (UInt8(ascii: "{"), .element):
                place = .separator
                return try object()
            case (UInt8(ascii: "["), .beginning): place = .firstElement
            case (UInt8(ascii: ","), .separator): place = .element
            case (UInt8(ascii: "]"), .firstElement), (UInt8(ascii: "]"), .separator): place = .end
            case (_, .separator): throw malformed(line, "a comma or the end of the array is missing")
            case (_, .end): throw malformed(line, "more text follows the array")
            default: throw malformed(line, "a JSON object is missing")
            }
            position += 1
        }
        switch place {
        case .beginning, .object, .end: return nil
        case .firstElement, .element, .separator: throw malformed(line, "the end of the array is missing")
        }
    }

    /// Reads an object whose `{` is the next byte.
    private mutating func object() throws(KeychainError) -> Object {
        let first = line
        var (start, index) = (position, position)
        var (depth, lines) = (0, 0)
        var (isString, isEscaped) = (false, false)
        while true {
            let isWhole = unsafe bytes.withUnsafeBytes { buffer in
                while index < buffer.count {
                    let byte = unsafe buffer[index]
                    index += 1
                    if byte == 0x0A { lines += 1 }
                    if isEscaped {
                        isEscaped = false
                    } else if isString {
                        if byte == UInt8(ascii: "\\") { isEscaped = true }
                        if byte == UInt8(ascii: "\"") { isString = false }
                    } else {
                        switch byte {
                        case UInt8(ascii: "\""): isString = true
                        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                        case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
                        default: break
                        }
                        if depth == 0 { return true }
                    }
                }
                return false
            }
            if isWhole {
                position = index
                line += lines
                return Object(text: bytes[start..<index], line: first)
            }
            let unread = index - start
            guard unread < limit else {
                throw KeychainError(
                    .dataTooLarge, "line \(first) of \(file.path): the object is larger than \(limit >> 20) MiB.",
                    details: ["line": String(first)])
            }
            position = start
            guard try readMore() else { throw malformed(first, "the object that begins here does not end") }
            (start, index) = (0, unread)
        }
    }

    private mutating func peek() throws(KeychainError) -> UInt8? {
        while position == bytes.count { guard try readMore() else { return nil } }
        let index = position
        return unsafe bytes.withUnsafeBytes { unsafe $0[index] }
    }

    /// Reads more, and drops the bytes before `position`.
    ///
    /// - Returns: Whether there is more.
    private mutating func readMore() throws(KeychainError) -> Bool {
        guard !isAtEnd else { return false }
        let rest = bytes.suffix(from: position)
        // Doubled, so that a large object is not copied often.
        let more = try file.read(
            limit: max(Self.chunk, rest.count), by: timeout.map { .after($0) } ?? .never, untilNewline: true)
        isAtEnd = more.isEmpty
        bytes = SecretBytes(joining: [rest, more])
        position = 0
        return !more.isEmpty
    }

    private func malformed(_ line: Int, _ reason: String) -> KeychainError {
        KeychainError(
            .unsupportedFormat, "line \(line) of \(file.path): \(reason).", details: ["line": String(line)])
    }
}
