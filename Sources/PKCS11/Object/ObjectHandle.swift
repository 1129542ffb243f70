/// A module's number for an object, good from one login to the next logout at the most.
///
/// > Important: Never keep one across a login, a logout or `Module.reinitialize()`, nor in a file: some tokens give
/// > the number to another object at once.
///
/// Corresponds to `CK_OBJECT_HANDLE`.
public struct ObjectHandle: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number; up to 64 bits, as OpenSC uses pointers.
    public let rawValue: UInt

    /// Wraps a number.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// The number in hexadecimal.
    public var description: String { "object 0x" + String(rawValue, radix: 16) }
}
