/// What a token told of an object's attributes.
///
/// An attribute that the object does not have, or that the token keeps secret, is `nil`; one that is there but was
/// never set is empty. Descriptions name types and sizes, never values.
public struct AttributeValues: Sendable, CustomStringConvertible, CustomReflectable {
    // Few enough that a search through an array beats hashing.
    private var values: [(type: AttributeType, bytes: [UInt8])] = []

    /// No values.
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

    /// A truth value; `nil` also when the attribute is not one byte.
    public func bool(_ type: AttributeType) -> Bool? {
        guard let bytes = self[type], bytes.count == 1 else { return nil }
        return bytes[0] != 0
    }

    /// A number; `nil` also when the attribute has not the size of one.
    public func ulong(_ type: AttributeType) -> UInt? {
        guard let bytes = self[type], bytes.count == MemoryLayout<UInt>.size else { return nil }
        return unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: UInt.self) }
    }

    /// Text; `nil` also when the attribute is not UTF-8.
    public func string(_ type: AttributeType) -> String? {
        self[type].flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// The mechanisms of a list; `nil` also when the attribute is not one.
    public func mechanisms(_ type: AttributeType) -> [MechanismType]? {
        let size = MemoryLayout<UInt>.size
        guard let bytes = self[type], bytes.count.isMultiple(of: size) else { return nil }
        return unsafe bytes.withUnsafeBytes { bytes in
            stride(from: 0, to: bytes.count, by: size).map {
                MechanismType(rawValue: unsafe bytes.loadUnaligned(fromByteOffset: $0, as: UInt.self))
            }
        }
    }

    /// The object's class. An object without one is the debris of a creation that was cut short.
    public var objectClass: ObjectClass? { ulong(.objectClass).map { ObjectClass(rawValue: $0) } }
    /// The kind of key.
    public var keyType: KeyType? { ulong(.keyType).map { KeyType(rawValue: $0) } }
    /// The kind of certificate.
    public var certificateType: CertificateType? { ulong(.certificateType).map { CertificateType(rawValue: $0) } }
    /// The name for people.
    public var label: String? { string(.label) }
    /// What a key and its certificate have in common; empty when it was never set.
    public var id: [UInt8]? { self[.id] }

    /// The types and sizes; never the values.
    public var description: String {
        "[" + values.map { "\($0.type) (\($0.bytes.count) bytes)" }.joined(separator: ", ") + "]"
    }

    /// A mirror without the values: reflection must not print what `description` hides.
    public var customMirror: Mirror { Mirror(self, children: ["types": types]) }
}
