import CP11Kit

/// Information about a mechanism. Tokens also list mechanisms that do not work: try one before relying on it.
///
/// Corresponds to `CK_MECHANISM_INFO`, read by `C_GetMechanismInfo`.
public struct MechanismInfo: Hashable, Sendable {
    /// The sizes of the smallest and the largest key; bits for RSA and elliptic curves, mostly bytes for symmetric
    /// keys.
    public let keySizes: ClosedRange<UInt>

    /// The mechanism's uses, and whether it runs in the device.
    public let flags: MechanismFlags

    /// Creates the description of a mechanism.
    public init(keySizes: ClosedRange<UInt>, flags: MechanismFlags) {
        self.keySizes = keySizes
        self.flags = flags
    }

    /// Converts a token's answer. If the minimum exceeds the maximum, the two are swapped.
    init(_ info: CK_MECHANISM_INFO) {
        let sizes = (info.ulMinKeySize, info.ulMaxKeySize)
        self.init(keySizes: min(sizes.0, sizes.1)...max(sizes.0, sizes.1), flags: MechanismFlags(rawValue: info.flags))
    }
}

/// The uses of a mechanism: `CKF_*` of `CK_MECHANISM_INFO`.
public struct MechanismFlags: OptionSet, Hashable, Sendable {
    /// The bits of the C interface.
    public let rawValue: UInt

    /// Wraps bits, known or not.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// Runs in the device. Corresponds to `CKF_HW`.
    public static let hardware = MechanismFlags(rawValue: CKF_HW)
    /// Works with `C_EncryptInit`. Corresponds to `CKF_ENCRYPT`.
    public static let encrypt = MechanismFlags(rawValue: CKF_ENCRYPT)
    /// Works with `C_DecryptInit`. Corresponds to `CKF_DECRYPT`.
    public static let decrypt = MechanismFlags(rawValue: CKF_DECRYPT)
    /// Works with `C_DigestInit`. Corresponds to `CKF_DIGEST`.
    public static let digest = MechanismFlags(rawValue: CKF_DIGEST)
    /// Works with `C_SignInit`. Corresponds to `CKF_SIGN`.
    public static let sign = MechanismFlags(rawValue: CKF_SIGN)
    /// Works with `C_SignRecoverInit`. Corresponds to `CKF_SIGN_RECOVER`.
    public static let signRecover = MechanismFlags(rawValue: CKF_SIGN_RECOVER)
    /// Works with `C_VerifyInit`. Corresponds to `CKF_VERIFY`.
    public static let verify = MechanismFlags(rawValue: CKF_VERIFY)
    /// Works with `C_VerifyRecoverInit`. Corresponds to `CKF_VERIFY_RECOVER`.
    public static let verifyRecover = MechanismFlags(rawValue: CKF_VERIFY_RECOVER)
    /// Works with `C_GenerateKey`. Corresponds to `CKF_GENERATE`.
    public static let generate = MechanismFlags(rawValue: CKF_GENERATE)
    /// Works with `C_GenerateKeyPair`. Corresponds to `CKF_GENERATE_KEY_PAIR`.
    public static let generateKeyPair = MechanismFlags(rawValue: CKF_GENERATE_KEY_PAIR)
    /// Works with `C_WrapKey`. Corresponds to `CKF_WRAP`.
    public static let wrap = MechanismFlags(rawValue: CKF_WRAP)
    /// Works with `C_UnwrapKey`. Corresponds to `CKF_UNWRAP`.
    public static let unwrap = MechanismFlags(rawValue: CKF_UNWRAP)
    /// Works with `C_DeriveKey`. Corresponds to `CKF_DERIVE`.
    public static let derive = MechanismFlags(rawValue: CKF_DERIVE)
    /// Curves over a prime field. Corresponds to `CKF_EC_F_P`.
    public static let ecPrimeField = MechanismFlags(rawValue: CKF_EC_F_P)
    /// Curves named by an object identifier. Corresponds to `CKF_EC_NAMEDCURVE`.
    public static let ecNamedCurve = MechanismFlags(rawValue: CKF_EC_NAMEDCURVE)
    /// Points in uncompressed form. Corresponds to `CKF_EC_UNCOMPRESS`.
    public static let ecUncompressed = MechanismFlags(rawValue: CKF_EC_UNCOMPRESS)
    /// Points in compressed form. Corresponds to `CKF_EC_COMPRESS`.
    public static let ecCompressed = MechanismFlags(rawValue: CKF_EC_COMPRESS)
}
