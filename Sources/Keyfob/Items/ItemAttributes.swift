import Foundation

/// The attributes of an item: a small dictionary from names to values.
///
/// Kept in the encoded form in which the vault seals it, so that a list of 100,000 items costs the
/// bytes of their attributes and nothing is decoded that nobody reads. Looking one attribute up walks
/// the dozen or so entries.
///
/// The encoding is: entries in byte order of their names; each entry is the name (4 bytes), the kind
/// (1 byte: 1 text, 2 bytes, 3 number, 4 date), the length of the value (4 bytes, big-endian) and the
/// value (UTF-8; bytes; signed 64-bit big-endian; IEEE 754 binary64 big-endian, seconds since
/// 2001-01-01T00:00:00Z).
public struct ItemAttributes: Sendable {
    /// The encoded entries.
    public private(set) var encoded: [UInt8]

    /// No attributes.
    public init() { encoded = [] }

    /// Parses encoded attributes.
    ///
    /// Returns `nil` for anything that is not exactly the encoding: a length past the end, a kind that
    /// does not exist, names out of order, twice or not ASCII, text that is not UTF-8.
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

    /// The value of an attribute, or `nil` where it is not set. Setting `nil` removes it.
    ///
    /// - Precondition: The name has four ASCII characters.
    public subscript(name: AttributeName) -> AttributeValue? {
        get {
            guard let entry = entry(name) else { return nil }
            return entry.value(in: encoded)
        }
        set {
            let key = Array(name.rawValue.utf8)
            precondition(key.count == 4, "attribute names have four ASCII characters")
            var insertion = encoded.count
            var replaced = 0..<0
            var position = 0
            while let entry = Entry(at: position, in: encoded) {
                let here = encoded[position..<position + 4]
                if here.elementsEqual(key) { replaced = position..<entry.end }
                if !here.lexicographicallyPrecedes(key) {
                    insertion = position
                    break
                }
                position = entry.end
            }
            if replaced.isEmpty { replaced = insertion..<insertion }
            encoded.replaceSubrange(replaced, with: newValue.map { Entry.encode(key, $0) } ?? [])
        }
    }

    /// The names of the attributes that are set, in byte order.
    public var names: [AttributeName] { map(\.name) }

    /// How many attributes are set.
    public var count: Int { reduce(0) { count, _ in count + 1 } }

    /// Takes over every attribute of `other`, which wins where both have one.
    public mutating func merge(_ other: ItemAttributes) {
        for (name, value) in other { self[name] = value }
    }

    /// Only the attributes of these names.
    func filtered(_ names: Set<AttributeName>) -> ItemAttributes {
        var result = ItemAttributes()
        for (name, value) in self where names.contains(name) { result[name] = value }
        return result
    }

    private func entry(_ name: AttributeName) -> Entry? {
        var position = 0
        while let entry = Entry(at: position, in: encoded) {
            if encoded[position..<position + 4].elementsEqual(name.rawValue.utf8) { return entry }
            position = entry.end
        }
        return nil
    }
}

extension ItemAttributes: Sequence {
    /// Names and values, in byte order of the names.
    public func makeIterator() -> AnyIterator<(name: AttributeName, value: AttributeValue)> {
        var position = 0
        let encoded = encoded
        return AnyIterator {
            guard let entry = Entry(at: position, in: encoded), let value = entry.value(in: encoded) else { return nil }
            let name = AttributeName(rawValue: String(decoding: encoded[position..<position + 4], as: UTF8.self))
            position = entry.end
            return (name, value)
        }
    }
}

extension ItemAttributes: Hashable, ExpressibleByDictionaryLiteral {
    /// Attributes from a literal; a name given twice keeps its last value.
    public init(dictionaryLiteral elements: (AttributeName, AttributeValue)...) {
        self.init()
        for (name, value) in elements { self[name] = value }
    }
}

extension ItemAttributes: CustomStringConvertible, CustomReflectable {
    /// The names of the attributes; never a value.
    public var description: String { "ItemAttributes(\(names.map(\.rawValue).joined(separator: " ")))" }

    /// The names alone: reflection must not print what `description` hides.
    public var customMirror: Mirror { Mirror(self, children: ["names": names.map(\.rawValue)]) }
}

extension ItemAttributes {
    /// The place of one entry in the encoding.
    private struct Entry {
        let kind: UInt8
        let content: Range<Int>
        var end: Int { content.upperBound }

        init?(at position: Int, in bytes: [UInt8]) {
            guard position + 9 <= bytes.count else { return nil }
            let count = bytes[position + 5..<position + 9].reduce(0) { $0 << 8 | Int($1) }
            guard count <= bytes.count - position - 9 else { return nil }
            kind = bytes[position + 4]
            content = position + 9..<position + 9 + count
        }

        func isWellFormed(in bytes: [UInt8]) -> Bool {
            switch kind {
            case 1: String(validating: bytes[content], as: UTF8.self) != nil
            case 2: true
            case 3, 4: content.count == 8
            default: false
            }
        }

        func value(in bytes: [UInt8]) -> AttributeValue? {
            let content = bytes[content]
            switch kind {
            case 1: return .string(String(decoding: content, as: UTF8.self))
            case 2: return .data(Data(content))
            case 3: return Int64(bigEndianBytes: content).map { .number($0) }
            case 4:
                return UInt64(bigEndianBytes: content).map {
                    .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: $0)))
                }
            default: return nil
            }
        }

        static func encode(_ name: [UInt8], _ value: AttributeValue) -> [UInt8] {
            let (kind, content): (UInt8, [UInt8]) = switch value {
            case .string(let text): (1, Array(text.utf8))
            case .data(let data): (2, Array(data))
            case .number(let number): (3, number.bigEndianBytes)
            case .date(let date): (4, date.timeIntervalSinceReferenceDate.bitPattern.bigEndianBytes)
            }
            return name + [kind] + UInt32(content.count).bigEndianBytes + content
        }
    }
}
