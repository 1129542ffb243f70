public import Foundation
import KeyfobPrimitives

/// The value of an attribute, in one of the four forms that Keychain Services stores.
///
/// Text is compared by its bytes, never by Unicode equivalence: names that look alike may differ, as in Apple's
/// keychain.
public enum AttributeValue: Sendable {
    /// Text with any characters, including NUL.
    case string(String)
    /// Bytes.
    case data(Data)
    /// A number; Booleans are 0 and 1.
    case number(Int64)
    /// A date.
    case date(Date)

    /// The four forms, with their numbers in encoded attributes.
    package enum Kind: UInt8 {
        case string = 1
        case data = 2
        case number = 3
        case date = 4
    }

    /// Whether two values match as parts of a key: text and bytes with the same bytes match each other.
    public func matches(_ other: AttributeValue) -> Bool {
        // Equivalent to comparing `canonicalBytes`, but without creating them, because a search calls this for every
        // item.
        switch (self, other) {
        case (.string(let text), .string(let other)): text.isIdentical(to: other)
        case (.string(let text), .data(let bytes)), (.data(let bytes), .string(let text)):
            text.utf8.elementsEqual(bytes)
        case (.data(let bytes), .data(let other)): bytes == other
        case (.number(let number), .number(let other)): number == other
        case (.date(let date), .date(let other)):
            date.timeIntervalSinceReferenceDate.bitPattern == other.timeIntervalSinceReferenceDate.bitPattern
        case (.string, _), (.data, _), (.number, _), (.date, _): false
        }
    }

    /// The bytes that represent the value in digests and comparisons: a letter for the kind, then the value.
    ///
    /// Text and bytes share a letter, because in Apple's keychain a string and the same bytes match and collide.
    package var canonicalBytes: [UInt8] {
        switch self {
        case .string(let text): [UInt8(ascii: "b")] + Array(text.utf8)
        case .data(let data): [UInt8(ascii: "b")] + data
        case .number(let number): [UInt8(ascii: "n")] + number.bigEndianBytes
        case .date(let date): [UInt8(ascii: "d")] + date.timeIntervalSinceReferenceDate.bitPattern.bigEndianBytes
        }
    }

    /// The value as text: a string, or bytes that are UTF-8.
    public var text: String? {
        switch self {
        case .string(let text): text
        case .data(let data): String(validating: data, as: UTF8.self)
        case .number, .date: nil
        }
    }

    /// The value as bytes: bytes, or the UTF-8 of a string.
    public var bytes: Data? {
        switch self {
        case .string(let text): Data(text.utf8)
        case .data(let data): data
        case .number, .date: nil
        }
    }

    /// The value as a number.
    public var number: Int64? {
        if case .number(let number) = self { number } else { nil }
    }

    /// The value as a date.
    public var date: Date? {
        if case .date(let date) = self { date } else { nil }
    }
}

extension AttributeValue: Hashable {
    /// Whether kind and bytes are equal.
    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.string(let left), .string(let right)): left.isIdentical(to: right)
        case (.data(let left), .data(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.date(let left), .date(let right)): left == right
        default: false
        }
    }

    /// Hashes the canonical bytes.
    public func hash(into hasher: inout Hasher) { hasher.combine(canonicalBytes) }
}

extension AttributeValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    /// Text.
    public init(stringLiteral value: String) { self = .string(value) }
    /// A number.
    public init(integerLiteral value: Int64) { self = .number(value) }
    /// 0 or 1.
    public init(booleanLiteral value: Bool) { self = .number(value ? 1 : 0) }
}

// Inlinable, because reading one secret takes a hundred of these, and as generic calls of another module they took a
// tenth of its time.
extension FixedWidthInteger {
    /// The bytes of the value, most significant first.
    @inlinable package var bigEndianBytes: [UInt8] {
        unsafe withUnsafeBytes(of: bigEndian) { unsafe Array($0) }
    }

    /// Creates the value of `bytes`, most significant first; fails unless their number is that of the type.
    @inlinable package init?(bigEndianBytes bytes: some Collection<UInt8>) {
        guard bytes.count == Self.bitWidth / 8 else { return nil }
        var value: Self = 0
        for byte in bytes { value = value << 8 | Self(truncatingIfNeeded: byte) }
        self = value
    }
}

extension AttributeValue: CustomStringConvertible, CustomReflectable {
    /// The kind and, for text and bytes, the number of bytes; never the value.
    public var description: String {
        switch self {
        case .string, .data: "AttributeValue(\(bytes?.count ?? 0) bytes)"
        case .number: "AttributeValue(number)"
        case .date: "AttributeValue(date)"
        }
    }

    /// A mirror without children, because reflection must not print the values that `description` hides.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
