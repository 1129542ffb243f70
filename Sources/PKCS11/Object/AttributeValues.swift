/// The attributes of an object, as a token returned them.
///
/// An attribute that the object does not have, or that the token keeps secret, is `nil`. An attribute that was never
/// set is empty. Descriptions contain types and sizes, never values.
public struct AttributeValues: Sendable, CustomStringConvertible, CustomReflectable {
    // An array, since there are so few that searching is faster than hashing.
    private var values: [(type: AttributeType, bytes: [UInt8])] = []

    /// Creates an empty list.
    public init() {}

    /// The bytes of an attribute.
    public subscript(type: AttributeType) -> [UInt8]? {
        values.first { $0.type == type }?.bytes
    }

    /// The attributes that have a value, in the order in which they were asked for.
    public var types: [AttributeType] { values.map(\.type) }

    mutating func append(_ type: AttributeType, _ bytes: [UInt8]) {
        values.append((type, bytes))
    }

    /// A truth value; `nil` also if the attribute is not one byte.
    public func bool(_ type: AttributeType) -> Bool? {
        guard let bytes = self[type], bytes.count == 1 else { return nil }
        return bytes[0] != 0
    }

    /// A number; `nil` also if the attribute does not have the size of one.
    public func ulong(_ type: AttributeType) -> UInt? {
        guard let bytes = self[type], bytes.count == MemoryLayout<UInt>.size else { return nil }
        return unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: UInt.self) }
    }

    /// Text; `nil` also if the attribute is not UTF-8.
    public func string(_ type: AttributeType) -> String? {
        self[type].flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// The mechanisms of a list; `nil` also if the attribute is not a list of mechanisms.
    public func mechanisms(_ type: AttributeType) -> [MechanismType]? {
        let size = MemoryLayout<UInt>.size
        guard let bytes = self[type], bytes.count.isMultiple(of: size) else { return nil }
        return unsafe bytes.withUnsafeBytes { bytes in
            stride(from: 0, to: bytes.count, by: size).map {
                MechanismType(rawValue: unsafe bytes.loadUnaligned(fromByteOffset: $0, as: UInt.self))
            }
        }
    }

    /// The object's class. An object without a class is left over from an interrupted creation.
    public var objectClass: ObjectClass? { ulong(.objectClass).map { ObjectClass(rawValue: $0) } }
    /// The type of the key.
    public var keyType: KeyType? { ulong(.keyType).map { KeyType(rawValue: $0) } }
    /// The type of the certificate.
    public var certificateType: CertificateType? { ulong(.certificateType).map { CertificateType(rawValue: $0) } }
    /// The name for people.
    public var label: String? { string(.label) }
    /// The identifier that a key and its certificate share; empty if it was never set.
    public var id: [UInt8]? { self[.id] }

    /// The types and sizes; never the values.
    public var description: String {
        "[" + values.map { "\($0.type) (\($0.bytes.count) bytes)" }.joined(separator: ", ") + "]"
    }

    /// A mirror without the values, since reflection must not reveal what `description` hides.
    public var customMirror: Mirror { Mirror(self, children: ["types": types]) }
}
