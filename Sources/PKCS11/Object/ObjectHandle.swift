/// A module's number for an object, valid at most from one login to the next logout.
///
/// > Important: Never keep a handle across a login, a logout or `Module.reinitialize()`, nor in a file. Some tokens
/// > reuse the number for another object at once.
///
/// Corresponds to `CK_OBJECT_HANDLE`.
public struct ObjectHandle: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number, of up to 64 bits, since OpenSC uses pointers.
    public let rawValue: UInt

    /// Wraps a number.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// The number in hexadecimal.
    public var description: String { "object 0x" + String(rawValue, radix: 16) }
}
