import CP11Kit

/// The state of a token: the `CKF_*` flags of `CK_TOKEN_INFO`. Bits without a name are kept.
public struct TokenFlags: OptionSet, Hashable, Sendable {
    /// The bits of the C interface.
    public let rawValue: UInt

    /// Wraps bits, known or not.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// Has a random number generator. Corresponds to `CKF_RNG`.
    public static let randomNumberGenerator = TokenFlags(rawValue: CKF_RNG)
    /// Cannot be written to. Corresponds to `CKF_WRITE_PROTECTED`.
    public static let writeProtected = TokenFlags(rawValue: CKF_WRITE_PROTECTED)
    /// Some functions need a login. Corresponds to `CKF_LOGIN_REQUIRED`.
    public static let loginRequired = TokenFlags(rawValue: CKF_LOGIN_REQUIRED)
    /// A user PIN is set; tpm2 sets this before there is one. Corresponds to `CKF_USER_PIN_INITIALIZED`.
    public static let userPINInitialized = TokenFlags(rawValue: CKF_USER_PIN_INITIALIZED)
    /// A saved operation state needs no keys to be restored. Corresponds to `CKF_RESTORE_KEY_NOT_NEEDED`.
    public static let restoreKeyNotNeeded = TokenFlags(rawValue: CKF_RESTORE_KEY_NOT_NEEDED)
    /// Has a clock. Corresponds to `CKF_CLOCK_ON_TOKEN`.
    public static let clockOnToken = TokenFlags(rawValue: CKF_CLOCK_ON_TOKEN)
    /// The PIN is entered at the device: log in without one. Corresponds to `CKF_PROTECTED_AUTHENTICATION_PATH`.
    public static let protectedAuthenticationPath = TokenFlags(rawValue: CKF_PROTECTED_AUTHENTICATION_PATH)
    /// Does two operations in one call. Corresponds to `CKF_DUAL_CRYPTO_OPERATIONS`.
    public static let dualCryptoOperations = TokenFlags(rawValue: CKF_DUAL_CRYPTO_OPERATIONS)
    /// `C_InitToken` has been called. Corresponds to `CKF_TOKEN_INITIALIZED`.
    public static let tokenInitialized = TokenFlags(rawValue: CKF_TOKEN_INITIALIZED)
    /// The token has another kind of authentication. Corresponds to `CKF_SECONDARY_AUTHENTICATION`.
    public static let secondaryAuthentication = TokenFlags(rawValue: CKF_SECONDARY_AUTHENTICATION)
    /// A wrong user PIN was given since the last login. Corresponds to `CKF_USER_PIN_COUNT_LOW`.
    public static let userPINCountLow = TokenFlags(rawValue: CKF_USER_PIN_COUNT_LOW)
    /// One more wrong user PIN locks the user PIN. Corresponds to `CKF_USER_PIN_FINAL_TRY`.
    public static let userPINFinalTry = TokenFlags(rawValue: CKF_USER_PIN_FINAL_TRY)
    /// The user PIN is locked. Corresponds to `CKF_USER_PIN_LOCKED`.
    public static let userPINLocked = TokenFlags(rawValue: CKF_USER_PIN_LOCKED)
    /// The user PIN must be changed. Corresponds to `CKF_USER_PIN_TO_BE_CHANGED`.
    public static let userPINToBeChanged = TokenFlags(rawValue: CKF_USER_PIN_TO_BE_CHANGED)
    /// A wrong security officer's PIN was given. Corresponds to `CKF_SO_PIN_COUNT_LOW`.
    public static let securityOfficerPINCountLow = TokenFlags(rawValue: CKF_SO_PIN_COUNT_LOW)
    /// One more wrong security officer's PIN locks that PIN. Corresponds to `CKF_SO_PIN_FINAL_TRY`.
    public static let securityOfficerPINFinalTry = TokenFlags(rawValue: CKF_SO_PIN_FINAL_TRY)
    /// The security officer's PIN is locked. Corresponds to `CKF_SO_PIN_LOCKED`.
    public static let securityOfficerPINLocked = TokenFlags(rawValue: CKF_SO_PIN_LOCKED)
    /// The security officer's PIN must be changed. Corresponds to `CKF_SO_PIN_TO_BE_CHANGED`.
    public static let securityOfficerPINToBeChanged = TokenFlags(rawValue: CKF_SO_PIN_TO_BE_CHANGED)
}
