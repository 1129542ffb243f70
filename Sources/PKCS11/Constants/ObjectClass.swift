// Written by Scripts/generate-constants; change the script, not this file.

/// The class of an object on a token: `CKO_*`.
public struct ObjectClass: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number in the C interface.
    public let rawValue: UInt

    /// Wraps a number, known or not.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// The specification's spelling, or the number in hexadecimal where there is none.
    public var name: String { Self.names[rawValue] ?? "0x" + String(rawValue, radix: 16) }

    /// The same as `name`.
    public var description: String { name }

    /// Corresponds to `CKO_DATA`.
    public static let data = ObjectClass(rawValue: 0x0)
    /// Corresponds to `CKO_CERTIFICATE`.
    public static let certificate = ObjectClass(rawValue: 0x1)
    /// Corresponds to `CKO_PUBLIC_KEY`.
    public static let publicKey = ObjectClass(rawValue: 0x2)
    /// Corresponds to `CKO_PRIVATE_KEY`.
    public static let privateKey = ObjectClass(rawValue: 0x3)
    /// Corresponds to `CKO_SECRET_KEY`.
    public static let secretKey = ObjectClass(rawValue: 0x4)
    /// Corresponds to `CKO_HW_FEATURE`.
    public static let hardwareFeature = ObjectClass(rawValue: 0x5)
    /// Corresponds to `CKO_DOMAIN_PARAMETERS`.
    public static let domainParameters = ObjectClass(rawValue: 0x6)
    /// Corresponds to `CKO_MECHANISM`.
    public static let mechanism = ObjectClass(rawValue: 0x7)
    /// Corresponds to `CKO_OTP_KEY`.
    public static let otpKey = ObjectClass(rawValue: 0x8)
    /// Corresponds to `CKO_PROFILE`.
    public static let profile = ObjectClass(rawValue: 0x9)

    /// The specification's spellings, for messages.
    static let names: [UInt: String] = [
        0x0: "CKO_DATA",
        0x1: "CKO_CERTIFICATE",
        0x2: "CKO_PUBLIC_KEY",
        0x3: "CKO_PRIVATE_KEY",
        0x4: "CKO_SECRET_KEY",
        0x5: "CKO_HW_FEATURE",
        0x6: "CKO_DOMAIN_PARAMETERS",
        0x7: "CKO_MECHANISM",
        0x8: "CKO_OTP_KEY",
        0x9: "CKO_PROFILE",
    ]
}
