import Foundation

/// A type whose values can be members of documents.
protocol ValueConvertible {
    var documentValue: Value { get }
}

extension Value: ValueConvertible {
    var documentValue: Value { self }
}

extension Members: ValueConvertible {
    var documentValue: KeyfobCLI.Value { .object(self) }
}

extension String: ValueConvertible {
    var documentValue: Value { .string(self) }
}

extension Bool: ValueConvertible {
    var documentValue: Value { .boolean(self) }
}

extension ValueConvertible where Self: FixedWidthInteger {
    var documentValue: Value { .integer(Int64(clamping: self)) }
}

extension Int: ValueConvertible {}
extension Int32: ValueConvertible {}
extension Int64: ValueConvertible {}
extension UInt: ValueConvertible {}

/// RFC 3339 in UTC with whole seconds.
extension Date: ValueConvertible {
    var documentValue: Value { .string(RFC3339.string(from: self)) }
}

extension Optional: ValueConvertible where Wrapped: ValueConvertible {
    var documentValue: Value { map(\.documentValue) ?? .null }
}

extension Array: ValueConvertible where Element: ValueConvertible {
    var documentValue: Value { .array(map(\.documentValue)) }
}
