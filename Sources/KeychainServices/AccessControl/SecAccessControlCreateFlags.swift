/// The authentication that using an item requires; `SecAccessControlCreateFlags` of SecAccessControl.h.
public struct SecAccessControlCreateFlags: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: CFOptionFlags
    /// Creates flags from any bits; `SecAccessControlCreateWithFlags` refuses unknown ones.
    public init(rawValue: CFOptionFlags) { self.rawValue = rawValue }

    /// User presence, proven by any means.
    public static let userPresence = Self(rawValue: 1 << 0)
    /// Any enrolled finger or face.
    public static let biometryAny = Self(rawValue: 1 << 1)
    /// A finger or face that is currently enrolled.
    public static let biometryCurrentSet = Self(rawValue: 1 << 3)
    /// The passcode of the device; here the PIN of the token.
    public static let devicePasscode = Self(rawValue: 1 << 4)
    /// A companion device.
    public static let companion = Self(rawValue: 1 << 5)
    /// One of the constraints suffices.
    public static let or = Self(rawValue: 1 << 14)
    /// All constraints must be met.
    public static let and = Self(rawValue: 1 << 15)
    /// The constraint applies to the use of a private key: signing, decryption and key agreement.
    public static let privateKeyUsage = Self(rawValue: 1 << 30)
    /// An application password.
    public static let applicationPassword = Self(rawValue: 1 << 31)

    /// The older name of `biometryAny`.
    public static var touchIDAny: Self { .biometryAny }
    /// The older name of `biometryCurrentSet`.
    public static var touchIDCurrentSet: Self { .biometryCurrentSet }
    /// The older name of `companion`.
    public static var watch: Self { .companion }
}
