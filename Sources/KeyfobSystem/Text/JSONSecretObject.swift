package import KeyfobPrimitives

/// A JSON object whose values may be secrets. A value is copied only when it is asked for.
package struct JSONSecretObject {
    private let text: SecretBytes
    private let members: [(name: String, range: Range<Int>)]

    /// Finds the members of an object; `nil` if the object is malformed or has a member twice.
    package init?(_ text: SecretBytes) {
        var reader = Reader(text: text)
        guard let found = reader.members(), Set(found.map(\.name)).count == found.count else { return nil }
        self.text = text
        members = found
    }

    /// The names of the members.
    package var names: [String] { members.map(\.name) }

    /// The value of a member, in ordinary memory; `nil` if it is missing or malformed.
    package func value(_ name: String) -> JSONText? { range(of: name).flatMap { JSONText(text[$0].copyBytes()) } }

    /// The string of a member in wiped memory; `nil` if it is missing, another value, or malformed.
    package func secret(_ name: String) -> SecretBytes? {
        guard let range = range(of: name) else { return nil }
        return unsafe text.withUnsafeBytes { unsafe Self.string(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    /// Whether a member is there and not null.
    package func has(_ name: String) -> Bool {
        guard let range = range(of: name) else { return false }
        return unsafe text.withUnsafeBytes { unsafe !$0[range].elementsEqual("null".utf8) }
    }

    private func range(of name: String) -> Range<Int>? { members.first { $0.name == name }?.range }

    /// The content of a string with its quotation marks.
    private static func string(_ literal: UnsafeRawBufferPointer) -> SecretBytes? {
        let quote = UInt8(ascii: "\"")
        guard literal.count >= 2, unsafe literal.first == quote, unsafe literal.last == quote else { return nil }
        var length = 0
        var isValid = true
        // No escape is shorter than what it stands for.
        let content = unsafe SecretBytes(count: literal.count) { target in
            var index = 1
            while index < literal.count - 1 {
                let byte = unsafe literal[index]
                var end = index + 1
                if byte == UInt8(ascii: "\\") {
                    end = unsafe min(escapeEnd(in: literal, from: index), literal.count - 1)
                    // One character at a time, so that no more of the secret is in ordinary memory.
                    let escape = unsafe [quote] + literal[index..<end] + [quote]
                    guard let character = JSONText(escape)?.text else {
                        isValid = false
                        return
                    }
                    for unit in character.utf8 {
                        unsafe target[length] = unit
                        length += 1
                    }
                } else {
                    if byte < 0x20 || byte == quote { isValid = false }
                    unsafe target[length] = byte
                    length += 1
                }
                index = end
            }
        }
        guard isValid else { return nil }
        let result = content.prefix(length)
        return result.isUTF8 ? result : nil
    }

    /// The end of an escape, or of a pair of escapes for one character.
    private static func escapeEnd(in literal: UnsafeRawBufferPointer, from start: Int) -> Int {
        guard start + 1 < literal.count, unsafe literal[start + 1] == UInt8(ascii: "u") else { return start + 2 }
        guard start + 8 < literal.count else { return start + 6 }
        // The first half of a surrogate pair: D800 to DBFF.
        let digits = unsafe (literal[start + 2], literal[start + 3])
        let isHigh = "dD".utf8.contains(digits.0) && "89abAB".utf8.contains(digits.1)
        return isHigh ? start + 12 : start + 6
    }

    private struct Reader {
        let text: SecretBytes
        var index = 0

        private var next: UInt8? {
            guard index < text.count else { return nil }
            return unsafe text.withUnsafeBytes { unsafe $0[index] }
        }

        mutating func members() -> [(name: String, range: Range<Int>)]? {
            var found: [(name: String, range: Range<Int>)] = []
            guard take("{") else { return nil }
            if take("}") { return isAtEnd ? found : nil }
            repeat {
                skipBlanks()
                let start = index
                guard next == UInt8(ascii: "\""), skipString(),
                    let name = JSONText(text[start..<index].copyBytes())?.text, take(":")
                else { return nil }
                skipBlanks()
                let value = index
                guard skipValue() else { return nil }
                found.append((name, value..<index))
            } while take(",")
            return take("}") && isAtEnd ? found : nil
        }

        private var isAtEnd: Bool { index == text.count }

        private mutating func skipBlanks() {
            while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { index += 1 }
        }

        private mutating func take(_ byte: Unicode.Scalar) -> Bool {
            skipBlanks()
            guard next == UInt8(ascii: byte) else { return false }
            index += 1
            return true
        }

        private mutating func skipString() -> Bool {
            index += 1
            while let byte = next {
                index += byte == UInt8(ascii: "\\") ? 2 : 1
                if byte == UInt8(ascii: "\"") { return true }
            }
            return false
        }

        /// Skips a value up to the next comma or bracket outside of it.
        private mutating func skipValue() -> Bool {
            let start = index
            var depth = 0
            while let byte = next {
                switch byte {
                case UInt8(ascii: "\""):
                    guard skipString() else { return false }
                    continue
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    guard depth > 0 else { return index > start }
                    depth -= 1
                case UInt8(ascii: ","), 0x20, 0x0A, 0x0D, 0x09:
                    if depth == 0 { return index > start }
                default: break
                }
                index += 1
            }
            return false
        }
    }
}

extension SecretBytes {
    /// Whether the bytes are UTF-8. Checked without a copy.
    fileprivate var isUTF8: Bool {
        unsafe withUnsafeBytes { bytes in
            unsafe !transcode(
                bytes.makeIterator(), from: UTF8.self, to: UTF32.self, stoppingOnError: true, into: { _ in })
        }
    }
}
