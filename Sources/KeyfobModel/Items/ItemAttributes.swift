import Foundation

/// The attributes of an item: a small dictionary of names and values.
///
/// They are kept in the encoded form in which the vault seals them. A list of 100,000 items then costs only the bytes
/// of their attributes, and no unused value is decoded. A lookup walks the dozen or so entries.
///
/// The encoding consists of entries in byte order of their names. Each entry is the name (4 bytes), the kind (1 byte: 1
/// text, 2 bytes, 3 number, 4 date), the length of the value (4 bytes, big-endian) and the value. Text is UTF-8, a
/// number is signed 64-bit big-endian, and a date is IEEE 754 binary64 big-endian, in seconds since
/// 2001-01-01T00:00:00Z.
public struct ItemAttributes: Sendable {
    /// The encoded entries.
    public private(set) var encoded: [UInt8]

    /// Creates an empty set of attributes.
    public init() { encoded = [] }

    /// Parses encoded attributes.
    ///
    /// Fails for anything that is not exactly the encoding: a length past the end, an unknown kind, names that are
    /// unsorted, duplicate or not ASCII, text that is not UTF-8.
    public init?(encoded: [UInt8]) {
        self.encoded = encoded
        var previous: ArraySlice<UInt8> = []
        var position = 0
        while position < encoded.count {
            guard let entry = Entry(at: position, in: encoded), entry.isWellFormed(in: encoded) else { return nil }
            let name = encoded[position..<position + 4]
            guard previous.isEmpty || previous.lexicographicallyPrecedes(name), name.allSatisfy({ $0 < 0x80 }) else {
                return nil
            }
            previous = name
            position = entry.end
        }
    }

    /// The value of an attribute, or `nil` if it is not set. Setting `nil` removes it.
    ///
    /// - Precondition: The name has four ASCII characters.
    public subscript(name: AttributeName) -> AttributeValue? {
        get {
            guard let entry = name.code.flatMap({ entry($0) }) else { return nil }
            return entry.value(in: encoded)
        }
        set {
            guard let code = name.code else { preconditionFailure("attribute names have four ASCII characters") }
            var position = 0
            var end = 0
            while let entry = Entry(at: position, in: encoded), entry.code <= code {
                end = entry.end
                if entry.code == code { break }
                position = entry.end
            }
            end = Swift.max(position, end)
            guard let newValue else { return encoded.removeSubrange(position..<end) }
            guard position < encoded.count else { return Entry.append(code, newValue, to: &encoded) }
            // For an entry in the middle, all bytes are copied. A shared array would be copied anyway.
            var bytes: [UInt8] = []
            bytes.reserveCapacity(Swift.max(192, encoded.count + 64))
            bytes += encoded[..<position]
            Entry.append(code, newValue, to: &bytes)
            bytes += encoded[end...]
            encoded = bytes
        }
    }

    /// The names of the attributes that are set, in byte order.
    public var names: [AttributeName] { map(\.name) }

    /// The number of attributes that are set.
    public var count: Int { reduce(0) { count, _ in count + 1 } }

    /// Adds every attribute of `other`; its values replace existing ones.
    public mutating func merge(_ other: ItemAttributes) {
        guard !other.encoded.isEmpty else { return }
        guard !encoded.isEmpty else {
            encoded = other.encoded
            return
        }
        // Both are sorted, so one pass merges them without decoding values.
        var merged: [UInt8] = []
        merged.reserveCapacity(encoded.count + other.encoded.count)
        var (position, otherPosition) = (0, 0)
        while let next = Entry(at: otherPosition, in: other.encoded) {
            while let entry = Entry(at: position, in: encoded), entry.code <= next.code {
                if entry.code < next.code { merged += encoded[position..<entry.end] }
                position = entry.end
            }
            merged += other.encoded[otherPosition..<next.end]
            otherPosition = next.end
        }
        merged += encoded[position...]
        encoded = merged
    }

    /// The attributes with these names.
    package func filtered(_ names: Set<AttributeName>) -> ItemAttributes {
        var result = ItemAttributes()
        for (name, value) in self where names.contains(name) { result[name] = value }
        return result
    }

    private func entry(_ code: UInt32) -> Entry? {
        var position = 0
        while let entry = Entry(at: position, in: encoded), entry.code <= code {
            if entry.code == code { return entry }
            position = entry.end
        }
        return nil
    }

    /// Whether every attribute has the same value in `candidate`, by the rule of ``AttributeValue/matches(_:)``.
    ///
    /// Compares the encoded bytes.
    ///
    /// - Parameter implied: The value of an attribute that `candidate` lacks.
    package func match(_ candidate: ItemAttributes, implied: (AttributeName) -> AttributeValue?) -> Bool {
        var position = 0
        while let wanted = Entry(at: position, in: encoded) {
            position = wanted.end
            if let found = candidate.entry(wanted.code) {
                guard found.letter == wanted.letter,
                    candidate.encoded[found.content].elementsEqual(encoded[wanted.content])
                else { return false }
            } else {
                guard let value = implied(AttributeName(code: wanted.code)), wanted.matches(value, in: encoded) else {
                    return false
                }
            }
        }
        return true
    }
}

extension ItemAttributes: Sequence {
    /// Names and values, in byte order of the names.
    public struct Iterator: IteratorProtocol {
        fileprivate let encoded: [UInt8]
        fileprivate var position = 0

        /// The next name and its value.
        public mutating func next() -> (name: AttributeName, value: AttributeValue)? {
            guard let entry = Entry(at: position, in: encoded), let value = entry.value(in: encoded) else { return nil }
            position = entry.end
            return (AttributeName(code: entry.code), value)
        }
    }

    /// Names and values, in byte order of the names.
    public func makeIterator() -> Iterator { Iterator(encoded: encoded) }
}

extension AttributeName {
    /// The four characters as a number that sorts like them; `nil` unless the name has four ASCII characters.
    package var code: UInt32? {
        var code: UInt32 = 0
        var count = 0
        for byte in rawValue.utf8 {
            guard byte < 0x80 else { return nil }
            code = code << 8 | UInt32(byte)
            count += 1
        }
        return count == 4 ? code : nil
    }

    /// Creates the name with this ``code``.
    package init(code: UInt32) {
        let characters = unsafe String(unsafeUninitializedCapacity: 4) { bytes in
            for index in 0..<4 { unsafe bytes[index] = UInt8(truncatingIfNeeded: code >> (24 - 8 * UInt32(index))) }
            return 4
        }
        self.init(rawValue: characters)
    }
}

extension ItemAttributes: Hashable, ExpressibleByDictionaryLiteral {
    /// Creates attributes from a literal; a duplicate name keeps its last value.
    public init(dictionaryLiteral elements: (AttributeName, AttributeValue)...) {
        self.init()
        for (name, value) in elements { self[name] = value }
    }
}

extension ItemAttributes: CustomStringConvertible, CustomReflectable {
    /// The names of the attributes; never a value.
    public var description: String { "ItemAttributes(\(names.map(\.rawValue).joined(separator: " ")))" }

    /// The names alone, because reflection must not print the values that `description` hides.
    public var customMirror: Mirror { Mirror(self, children: ["names": names.map(\.rawValue)]) }
}

extension ItemAttributes {
    /// The position of one entry in the encoding.
    private struct Entry {
        let code: UInt32
        /// `nil` for an unknown kind.
        let kind: AttributeValue.Kind?
        let content: Range<Int>
        var end: Int { content.upperBound }

        /// Identifies the letter of ``AttributeValue/canonicalBytes``, which text and bytes share; `content` is the
        /// rest of these bytes.
        var letter: UInt8? { kind == .data ? AttributeValue.Kind.string.rawValue : kind?.rawValue }

        init?(at position: Int, in bytes: [UInt8]) {
            guard position + 9 <= bytes.count else { return nil }
            let (code, length) = unsafe bytes.withUnsafeBytes { bytes in
                unsafe (
                    bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self).bigEndian,
                    bytes.loadUnaligned(fromByteOffset: position + 5, as: UInt32.self).bigEndian
                )
            }
            self.code = code
            let count = Int(length)
            guard count <= bytes.count - position - 9 else { return nil }
            kind = AttributeValue.Kind(rawValue: bytes[position + 4])
            content = position + 9..<position + 9 + count
        }

        func isWellFormed(in bytes: [UInt8]) -> Bool {
            switch kind {
            case .string: String(validating: bytes[content], as: UTF8.self) != nil
            case .data: true
            case .number, .date: content.count == 8
            case nil: false
            }
        }

        func value(in bytes: [UInt8]) -> AttributeValue? {
            let content = bytes[content]
            switch kind {
            case .string: return .string(String(decoding: content, as: UTF8.self))
            case .data: return .data(Data(content))
            case .number: return Int64(bigEndianBytes: content).map { .number($0) }
            case .date:
                return UInt64(bigEndianBytes: content).map {
                    .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: $0)))
                }
            case nil: return nil
            }
        }

        /// Whether the content matches a value, by the rule of ``AttributeValue/matches(_:)``.
        func matches(_ value: AttributeValue, in bytes: [UInt8]) -> Bool {
            switch (kind, value) {
            case (.string, .string(let text)), (.data, .string(let text)): bytes[content].elementsEqual(text.utf8)
            case (.string, .data(let data)), (.data, .data(let data)):
                content.count == data.count && (content.isEmpty || bytes[content].elementsEqual(data))
            case (.number, .number), (.date, .date): self.value(in: bytes)?.matches(value) ?? false
            default: false
            }
        }

        static func append(_ code: UInt32, _ value: AttributeValue, to bytes: inout [UInt8]) {
            // Reserve room for a typical item, which has only a few attributes.
            if bytes.isEmpty { bytes.reserveCapacity(192) }
            bytes.append(bigEndian: code)
            switch value {
            case .string(let text):
                bytes.append(AttributeValue.Kind.string.rawValue)
                bytes.append(bigEndian: UInt32(text.utf8.count))
                bytes += text.utf8
            case .data(let data):
                bytes.append(AttributeValue.Kind.data.rawValue)
                bytes.append(bigEndian: UInt32(data.count))
                bytes += data
            case .number(let number):
                bytes.append(AttributeValue.Kind.number.rawValue)
                bytes.append(bigEndian: UInt32(8))
                bytes.append(bigEndian: number)
            case .date(let date):
                bytes.append(AttributeValue.Kind.date.rawValue)
                bytes.append(bigEndian: UInt32(8))
                bytes.append(bigEndian: date.timeIntervalSinceReferenceDate.bitPattern)
            }
        }
    }
}

extension [UInt8] {
    /// Appends the bytes of a number, most significant first.
    fileprivate mutating func append(bigEndian number: some FixedWidthInteger) {
        unsafe Swift.withUnsafeBytes(of: number.bigEndian) { unsafe append(contentsOf: $0) }
    }
}
