/// One of SoftHSM's object files: a token's or an object's attributes.
///
/// Layout (SoftHSM 2.6, all numbers 8 bytes, big endian): a generation counter, then for each attribute
/// its type, its kind (1 boolean, 2 number, 3 bytes, 4 attributes, 5 mechanisms) and its value.
struct ObjectFile {
    /// The types of attributes and their values, as they lie in the file.
    private let attributes: [(type: UInt64, value: [UInt8])]
    /// The values of kind 3; those of a private object are encrypted, unless they are empty.
    private let strings: [[UInt8]]

    private enum Tag {
        static let objectClass: UInt64 = 0
    }

    /// CKO_CERTIFICATE, CKO_PUBLIC_KEY, CKO_PRIVATE_KEY and CKO_SECRET_KEY: none of these is anything without a value.
    private static let classesWithValue: ClosedRange<UInt64> = 1...4

    /// Reads a whole file; `nil` when it is empty or cut off.
    init?(_ bytes: [UInt8]) {
        var reader = Reader(bytes: bytes[...])
        guard reader.number() != nil else { return nil }
        var attributes: [(type: UInt64, value: [UInt8])] = []
        var strings: [[UInt8]] = []
        while !reader.bytes.isEmpty {
            guard let type = reader.number(), let kind = reader.number() else { return nil }
            guard let value = reader.value(of: kind) else { return nil }
            attributes.append((type, value))
            if kind == 3 { strings.append(value) }
        }
        self.attributes = attributes
        self.strings = strings
    }

    /// The value of an attribute; the last one of two, as SoftHSM reads it.
    subscript(type: UInt64) -> [UInt8]? { attributes.last { $0.type == type }?.value }

    /// Whether there is nothing in it that anybody has put there.
    ///
    /// SoftHSM makes an object in steps: a file of nothing but the counter, then the class, then one default after
    /// the other, and all that the caller wants at once and last. Defaults are numbers, booleans and empty strings.
    var isUnfinished: Bool {
        guard let objectClass = self[Tag.objectClass].flatMap(Self.number) else { return true }
        return Self.classesWithValue.contains(objectClass) && strings.allSatisfy(\.isEmpty)
    }

    /// A number of 8 bytes; `nil` for anything else.
    static func number(_ bytes: [UInt8]) -> UInt64? {
        bytes.count == 8 ? bytes.reduce(0) { $0 << 8 | UInt64($1) } : nil
    }

    private struct Reader {
        var bytes: ArraySlice<UInt8>

        mutating func number() -> UInt64? { take(8).flatMap(ObjectFile.number) }

        mutating func value(of kind: UInt64) -> [UInt8]? {
            switch kind {
            case 1: return take(1)
            case 2: return take(8)
            case 3, 4:
                guard let count = number(), count <= UInt64(bytes.count) else { return nil }
                return take(Int(count))
            case 5:
                guard let count = number(), count <= UInt64(bytes.count / 8) else { return nil }
                return take(Int(count) * 8)
            default: return nil
            }
        }

        private mutating func take(_ count: Int) -> [UInt8]? {
            guard bytes.count >= count else { return nil }
            defer { bytes.removeFirst(count) }
            return Array(bytes.prefix(count))
        }
    }
}
