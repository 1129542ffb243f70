/// What must be shown before an item is used; `SecAccessControlCreateFlags` of SecAccessControl.h.
public struct SecAccessControlCreateFlags: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: CFOptionFlags
    /// Flags of any bits; those without a name are refused by `SecAccessControlCreateWithFlags`.
    public init(rawValue: CFOptionFlags) { self.rawValue = rawValue }

    /// The person is present, by whatever means.
    public static let userPresence = Self(rawValue: 1 << 0)
    /// Any enrolled finger or face.
    public static let biometryAny = Self(rawValue: 1 << 1)
    /// A finger or face that is enrolled now.
    public static let biometryCurrentSet = Self(rawValue: 1 << 3)
    /// The passcode of the device; here the PIN of the token.
    public static let devicePasscode = Self(rawValue: 1 << 4)
    /// A companion device.
    public static let companion = Self(rawValue: 1 << 5)
    /// One of the constraints suffices.
    public static let or = Self(rawValue: 1 << 14)
    /// All constraints must be met.
    public static let and = Self(rawValue: 1 << 15)
    /// A private key is used; the constraint is on signing and key agreement.
    public static let privateKeyUsage = Self(rawValue: 1 << 30)
    /// A password of the application's own.
    public static let applicationPassword = Self(rawValue: 1 << 31)

    /// The older name of `biometryAny`.
    public static var touchIDAny: Self { .biometryAny }
    /// The older name of `biometryCurrentSet`.
    public static var touchIDCurrentSet: Self { .biometryCurrentSet }
    /// The older name of `companion`.
    public static var watch: Self { .companion }
}
