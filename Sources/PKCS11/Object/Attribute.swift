public import KeyfobPrimitives

/// An attribute of an object with its value, to be sent to a token.
///
/// Descriptions contain the type and the number of bytes, never the value. Corresponds to `CK_ATTRIBUTE`.
public struct Attribute: Sendable, CustomStringConvertible, CustomReflectable {
    enum Storage: Sendable {
        case bytes([UInt8])
        case secret(SecretBytes)
    }

    /// The value.
    public let type: AttributeType
    let storage: Storage

    private init(_ type: AttributeType, _ storage: Storage) {
        self.type = type
        self.storage = storage
    }

    /// A truth value, one byte. Corresponds to `CK_BBOOL`.
    public static func bool(_ type: AttributeType, _ value: Bool) -> Attribute {
        Attribute(type, .bytes([value ? 1 : 0]))
    }

    /// A number, in the machine's byte order. Corresponds to `CK_ULONG`.
    public static func ulong(_ type: AttributeType, _ value: UInt) -> Attribute {
        Attribute(type, .bytes(unsafe withUnsafeBytes(of: value) { unsafe Array($0) }))
    }

    /// Bytes as they are; also big numbers, highest byte first, and DER.
    public static func bytes(_ type: AttributeType, _ value: [UInt8]) -> Attribute {
        Attribute(type, .bytes(value))
    }

    /// Text in UTF-8, without a terminator.
    public static func string(_ type: AttributeType, _ value: String) -> Attribute {
        Attribute(type, .bytes(Array(value.utf8)))
    }

    /// Bytes that are wiped after use.
    public static func secret(_ type: AttributeType, _ value: SecretBytes) -> Attribute {
        Attribute(type, .secret(value))
    }

    /// A date of the Gregorian calendar: four digits, two and two. Corresponds to `CK_DATE`.
    public static func date(_ type: AttributeType, year: Int, month: Int, day: Int) -> Attribute {
        func digits(_ number: Int, _ count: Int) -> [UInt8] {
            let text = String(number)
            return Array((String(repeating: "0", count: max(0, count - text.utf8.count)) + text).utf8.suffix(count))
        }
        return Attribute(type, .bytes(digits(year, 4) + digits(month, 2) + digits(day, 2)))
    }

    /// A list of mechanisms, such as that of `AttributeType.allowedMechanisms`.
    public static func mechanisms(_ type: AttributeType, _ value: [MechanismType]) -> Attribute {
        Attribute(type, .bytes(value.flatMap { mechanism in
            unsafe withUnsafeBytes(of: mechanism.rawValue) { unsafe Array($0) }
        }))
    }

    /// The value; `nil` for a secret.
    public var value: [UInt8]? {
        switch storage {
        case .bytes(let bytes): bytes
        case .secret: nil
        }
    }

    /// The number of bytes of the value.
    public var count: Int {
        switch storage {
        case .bytes(let bytes): bytes.count
        case .secret(let secret): secret.count
        }
    }

    /// The type and the number of bytes; never the value.
    public var description: String { "\(type) (\(count) bytes)" }

    /// A mirror without the value, since reflection must not reveal what `description` hides.
    public var customMirror: Mirror { Mirror(self, children: ["type": type, "count": count]) }
}
