import CP11Kit

/// A version of two numbers. Corresponds to `CK_VERSION`.
public struct Version: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number before the point.
    public let major: UInt8
    /// The number after the point; hundredths by the specification, though few modules follow it.
    public let minor: UInt8

    /// Creates a version.
    public init(major: UInt8, minor: UInt8) {
        self.major = major
        self.minor = minor
    }

    init(_ version: CK_VERSION) {
        self.init(major: version.major, minor: version.minor)
    }

    /// `major.minor`.
    public var description: String { "\(major).\(minor)" }

    /// Whether `left` is older than `right`.
    public static func < (left: Version, right: Version) -> Bool {
        (left.major, left.minor) < (right.major, right.minor)
    }
}
