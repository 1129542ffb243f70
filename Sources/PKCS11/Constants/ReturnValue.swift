// Written by Scripts/generate-constants; change the script, not this file.

/// What a Cryptoki call answered: `CKR_*`, vendors' numbers included.
public struct ReturnValue: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
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

    /// The call succeeded. Corresponds to `CKR_OK`.
    public static let ok = ReturnValue(rawValue: 0x0)
    /// Corresponds to `CKR_CANCEL`.
    public static let cancel = ReturnValue(rawValue: 0x1)
    /// Corresponds to `CKR_HOST_MEMORY`.
    public static let hostMemory = ReturnValue(rawValue: 0x2)
    /// Corresponds to `CKR_SLOT_ID_INVALID`.
    public static let slotIDInvalid = ReturnValue(rawValue: 0x3)
    /// Something failed; SoftHSM also answers this to a bad GCM tag and to bad padding.
    ///
    /// Corresponds to `CKR_GENERAL_ERROR`.
    public static let generalError = ReturnValue(rawValue: 0x5)
    /// Corresponds to `CKR_FUNCTION_FAILED`.
    public static let functionFailed = ReturnValue(rawValue: 0x6)
    /// Corresponds to `CKR_ARGUMENTS_BAD`.
    public static let argumentsBad = ReturnValue(rawValue: 0x7)
    /// Corresponds to `CKR_NO_EVENT`.
    public static let noEvent = ReturnValue(rawValue: 0x8)
    /// Corresponds to `CKR_NEED_TO_CREATE_THREADS`.
    public static let needToCreateThreads = ReturnValue(rawValue: 0x9)
    /// Corresponds to `CKR_CANT_LOCK`.
    public static let cantLock = ReturnValue(rawValue: 0xa)
    /// Corresponds to `CKR_ATTRIBUTE_READ_ONLY`.
    public static let attributeReadOnly = ReturnValue(rawValue: 0x10)
    /// Corresponds to `CKR_ATTRIBUTE_SENSITIVE`.
    public static let attributeSensitive = ReturnValue(rawValue: 0x11)
    /// Corresponds to `CKR_ATTRIBUTE_TYPE_INVALID`.
    public static let attributeTypeInvalid = ReturnValue(rawValue: 0x12)
    /// Corresponds to `CKR_ATTRIBUTE_VALUE_INVALID`.
    public static let attributeValueInvalid = ReturnValue(rawValue: 0x13)
    /// Corresponds to `CKR_ACTION_PROHIBITED`.
    public static let actionProhibited = ReturnValue(rawValue: 0x1b)
    /// Corresponds to `CKR_DATA_INVALID`.
    public static let dataInvalid = ReturnValue(rawValue: 0x20)
    /// Corresponds to `CKR_DATA_LEN_RANGE`.
    public static let dataLengthRange = ReturnValue(rawValue: 0x21)
    /// Corresponds to `CKR_DEVICE_ERROR`.
    public static let deviceError = ReturnValue(rawValue: 0x30)
    /// Corresponds to `CKR_DEVICE_MEMORY`.
    public static let deviceMemory = ReturnValue(rawValue: 0x31)
    /// Corresponds to `CKR_DEVICE_REMOVED`.
    public static let deviceRemoved = ReturnValue(rawValue: 0x32)
    /// Corresponds to `CKR_ENCRYPTED_DATA_INVALID`.
    public static let encryptedDataInvalid = ReturnValue(rawValue: 0x40)
    /// Corresponds to `CKR_ENCRYPTED_DATA_LEN_RANGE`.
    public static let encryptedDataLengthRange = ReturnValue(rawValue: 0x41)
    /// The authentication tag does not match (Cryptoki 3.0). Corresponds to `CKR_AEAD_DECRYPT_FAILED`.
    public static let aeadDecryptFailed = ReturnValue(rawValue: 0x42)
    /// Corresponds to `CKR_FUNCTION_CANCELED`.
    public static let functionCanceled = ReturnValue(rawValue: 0x50)
    /// Corresponds to `CKR_FUNCTION_NOT_PARALLEL`.
    public static let functionNotParallel = ReturnValue(rawValue: 0x51)
    /// Corresponds to `CKR_FUNCTION_NOT_SUPPORTED`.
    public static let functionNotSupported = ReturnValue(rawValue: 0x54)
    /// Corresponds to `CKR_KEY_HANDLE_INVALID`.
    public static let keyHandleInvalid = ReturnValue(rawValue: 0x60)
    /// Corresponds to `CKR_KEY_SIZE_RANGE`.
    public static let keySizeRange = ReturnValue(rawValue: 0x62)
    /// Corresponds to `CKR_KEY_TYPE_INCONSISTENT`.
    public static let keyTypeInconsistent = ReturnValue(rawValue: 0x63)
    /// Corresponds to `CKR_KEY_NOT_NEEDED`.
    public static let keyNotNeeded = ReturnValue(rawValue: 0x64)
    /// Corresponds to `CKR_KEY_CHANGED`.
    public static let keyChanged = ReturnValue(rawValue: 0x65)
    /// Corresponds to `CKR_KEY_NEEDED`.
    public static let keyNeeded = ReturnValue(rawValue: 0x66)
    /// Corresponds to `CKR_KEY_INDIGESTIBLE`.
    public static let keyIndigestible = ReturnValue(rawValue: 0x67)
    /// Corresponds to `CKR_KEY_FUNCTION_NOT_PERMITTED`.
    public static let keyFunctionNotPermitted = ReturnValue(rawValue: 0x68)
    /// Corresponds to `CKR_KEY_NOT_WRAPPABLE`.
    public static let keyNotWrappable = ReturnValue(rawValue: 0x69)
    /// Corresponds to `CKR_KEY_UNEXTRACTABLE`.
    public static let keyUnextractable = ReturnValue(rawValue: 0x6a)
    /// Corresponds to `CKR_MECHANISM_INVALID`.
    public static let mechanismInvalid = ReturnValue(rawValue: 0x70)
    /// Corresponds to `CKR_MECHANISM_PARAM_INVALID`.
    public static let mechanismParameterInvalid = ReturnValue(rawValue: 0x71)
    /// Corresponds to `CKR_OBJECT_HANDLE_INVALID`.
    public static let objectHandleInvalid = ReturnValue(rawValue: 0x82)
    /// Corresponds to `CKR_OPERATION_ACTIVE`.
    public static let operationActive = ReturnValue(rawValue: 0x90)
    /// Corresponds to `CKR_OPERATION_NOT_INITIALIZED`.
    public static let operationNotInitialized = ReturnValue(rawValue: 0x91)
    /// The PIN is wrong, and the token counted the try. Corresponds to `CKR_PIN_INCORRECT`.
    public static let pinIncorrect = ReturnValue(rawValue: 0xa0)
    /// Corresponds to `CKR_PIN_INVALID`.
    public static let pinInvalid = ReturnValue(rawValue: 0xa1)
    /// Corresponds to `CKR_PIN_LEN_RANGE`.
    public static let pinLengthRange = ReturnValue(rawValue: 0xa2)
    /// Corresponds to `CKR_PIN_EXPIRED`.
    public static let pinExpired = ReturnValue(rawValue: 0xa3)
    /// The PIN is locked; only the security officer can set a new one.
    ///
    /// Corresponds to `CKR_PIN_LOCKED`.
    public static let pinLocked = ReturnValue(rawValue: 0xa4)
    /// Corresponds to `CKR_SESSION_CLOSED`.
    public static let sessionClosed = ReturnValue(rawValue: 0xb0)
    /// Corresponds to `CKR_SESSION_COUNT`.
    public static let sessionCount = ReturnValue(rawValue: 0xb1)
    /// Corresponds to `CKR_SESSION_HANDLE_INVALID`.
    public static let sessionHandleInvalid = ReturnValue(rawValue: 0xb3)
    /// Corresponds to `CKR_SESSION_PARALLEL_NOT_SUPPORTED`.
    public static let sessionParallelNotSupported = ReturnValue(rawValue: 0xb4)
    /// Corresponds to `CKR_SESSION_READ_ONLY`.
    public static let sessionReadOnly = ReturnValue(rawValue: 0xb5)
    /// Corresponds to `CKR_SESSION_EXISTS`.
    public static let sessionExists = ReturnValue(rawValue: 0xb6)
    /// Corresponds to `CKR_SESSION_READ_ONLY_EXISTS`.
    public static let sessionReadOnlyExists = ReturnValue(rawValue: 0xb7)
    /// Corresponds to `CKR_SESSION_READ_WRITE_SO_EXISTS`.
    public static let sessionReadWriteSOExists = ReturnValue(rawValue: 0xb8)
    /// Corresponds to `CKR_SIGNATURE_INVALID`.
    public static let signatureInvalid = ReturnValue(rawValue: 0xc0)
    /// Corresponds to `CKR_SIGNATURE_LEN_RANGE`.
    public static let signatureLengthRange = ReturnValue(rawValue: 0xc1)
    /// Corresponds to `CKR_TEMPLATE_INCOMPLETE`.
    public static let templateIncomplete = ReturnValue(rawValue: 0xd0)
    /// Corresponds to `CKR_TEMPLATE_INCONSISTENT`.
    public static let templateInconsistent = ReturnValue(rawValue: 0xd1)
    /// Corresponds to `CKR_TOKEN_NOT_PRESENT`.
    public static let tokenNotPresent = ReturnValue(rawValue: 0xe0)
    /// Corresponds to `CKR_TOKEN_NOT_RECOGNIZED`.
    public static let tokenNotRecognized = ReturnValue(rawValue: 0xe1)
    /// Corresponds to `CKR_TOKEN_WRITE_PROTECTED`.
    public static let tokenWriteProtected = ReturnValue(rawValue: 0xe2)
    /// Corresponds to `CKR_UNWRAPPING_KEY_HANDLE_INVALID`.
    public static let unwrappingKeyHandleInvalid = ReturnValue(rawValue: 0xf0)
    /// Corresponds to `CKR_UNWRAPPING_KEY_SIZE_RANGE`.
    public static let unwrappingKeySizeRange = ReturnValue(rawValue: 0xf1)
    /// Corresponds to `CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT`.
    public static let unwrappingKeyTypeInconsistent = ReturnValue(rawValue: 0xf2)
    /// Corresponds to `CKR_USER_ALREADY_LOGGED_IN`.
    public static let userAlreadyLoggedIn = ReturnValue(rawValue: 0x100)
    /// Corresponds to `CKR_USER_NOT_LOGGED_IN`.
    public static let userNotLoggedIn = ReturnValue(rawValue: 0x101)
    /// Corresponds to `CKR_USER_PIN_NOT_INITIALIZED`.
    public static let userPINNotInitialized = ReturnValue(rawValue: 0x102)
    /// Corresponds to `CKR_USER_TYPE_INVALID`.
    public static let userTypeInvalid = ReturnValue(rawValue: 0x103)
    /// Corresponds to `CKR_USER_ANOTHER_ALREADY_LOGGED_IN`.
    public static let userAnotherAlreadyLoggedIn = ReturnValue(rawValue: 0x104)
    /// Corresponds to `CKR_USER_TOO_MANY_TYPES`.
    public static let userTooManyTypes = ReturnValue(rawValue: 0x105)
    /// Corresponds to `CKR_WRAPPED_KEY_INVALID`.
    public static let wrappedKeyInvalid = ReturnValue(rawValue: 0x110)
    /// Corresponds to `CKR_WRAPPED_KEY_LEN_RANGE`.
    public static let wrappedKeyLengthRange = ReturnValue(rawValue: 0x112)
    /// Corresponds to `CKR_WRAPPING_KEY_HANDLE_INVALID`.
    public static let wrappingKeyHandleInvalid = ReturnValue(rawValue: 0x113)
    /// Corresponds to `CKR_WRAPPING_KEY_SIZE_RANGE`.
    public static let wrappingKeySizeRange = ReturnValue(rawValue: 0x114)
    /// Corresponds to `CKR_WRAPPING_KEY_TYPE_INCONSISTENT`.
    public static let wrappingKeyTypeInconsistent = ReturnValue(rawValue: 0x115)
    /// Corresponds to `CKR_RANDOM_SEED_NOT_SUPPORTED`.
    public static let randomSeedNotSupported = ReturnValue(rawValue: 0x120)
    /// Corresponds to `CKR_RANDOM_NO_RNG`.
    public static let randomNoRNG = ReturnValue(rawValue: 0x121)
    /// Corresponds to `CKR_DOMAIN_PARAMS_INVALID`.
    public static let domainParametersInvalid = ReturnValue(rawValue: 0x130)
    /// Corresponds to `CKR_CURVE_NOT_SUPPORTED`.
    public static let curveNotSupported = ReturnValue(rawValue: 0x140)
    /// Corresponds to `CKR_BUFFER_TOO_SMALL`.
    public static let bufferTooSmall = ReturnValue(rawValue: 0x150)
    /// Corresponds to `CKR_SAVED_STATE_INVALID`.
    public static let savedStateInvalid = ReturnValue(rawValue: 0x160)
    /// Corresponds to `CKR_INFORMATION_SENSITIVE`.
    public static let informationSensitive = ReturnValue(rawValue: 0x170)
    /// Corresponds to `CKR_STATE_UNSAVEABLE`.
    public static let stateUnsaveable = ReturnValue(rawValue: 0x180)
    /// Corresponds to `CKR_CRYPTOKI_NOT_INITIALIZED`.
    public static let cryptokiNotInitialized = ReturnValue(rawValue: 0x190)
    /// Corresponds to `CKR_CRYPTOKI_ALREADY_INITIALIZED`.
    public static let cryptokiAlreadyInitialized = ReturnValue(rawValue: 0x191)
    /// Corresponds to `CKR_MUTEX_BAD`.
    public static let mutexBad = ReturnValue(rawValue: 0x1a0)
    /// Corresponds to `CKR_MUTEX_NOT_LOCKED`.
    public static let mutexNotLocked = ReturnValue(rawValue: 0x1a1)
    /// Corresponds to `CKR_NEW_PIN_MODE`.
    public static let newPINMode = ReturnValue(rawValue: 0x1b0)
    /// Corresponds to `CKR_NEXT_OTP`.
    public static let nextOTP = ReturnValue(rawValue: 0x1b1)
    /// Corresponds to `CKR_EXCEEDED_MAX_ITERATIONS`.
    public static let exceededMaxIterations = ReturnValue(rawValue: 0x1c0)
    /// Corresponds to `CKR_FIPS_SELF_TEST_FAILED`.
    public static let fipsSelfTestFailed = ReturnValue(rawValue: 0x1c1)
    /// Corresponds to `CKR_LIBRARY_LOAD_FAILED`.
    public static let libraryLoadFailed = ReturnValue(rawValue: 0x1c2)
    /// Corresponds to `CKR_PIN_TOO_WEAK`.
    public static let pinTooWeak = ReturnValue(rawValue: 0x1c3)
    /// Corresponds to `CKR_PUBLIC_KEY_INVALID`.
    public static let publicKeyInvalid = ReturnValue(rawValue: 0x1c4)
    /// Corresponds to `CKR_FUNCTION_REJECTED`.
    public static let functionRejected = ReturnValue(rawValue: 0x200)
    /// Corresponds to `CKR_TOKEN_RESOURCE_EXCEEDED`.
    public static let tokenResourceExceeded = ReturnValue(rawValue: 0x201)
    /// Corresponds to `CKR_OPERATION_CANCEL_FAILED`.
    public static let operationCancelFailed = ReturnValue(rawValue: 0x202)
    /// Corresponds to `CKR_KEY_EXHAUSTED`.
    public static let keyExhausted = ReturnValue(rawValue: 0x203)

    /// The specification's spellings, for messages.
    static let names: [UInt: String] = [
        0x0: "CKR_OK",
        0x1: "CKR_CANCEL",
        0x2: "CKR_HOST_MEMORY",
        0x3: "CKR_SLOT_ID_INVALID",
        0x5: "CKR_GENERAL_ERROR",
        0x6: "CKR_FUNCTION_FAILED",
        0x7: "CKR_ARGUMENTS_BAD",
        0x8: "CKR_NO_EVENT",
        0x9: "CKR_NEED_TO_CREATE_THREADS",
        0xa: "CKR_CANT_LOCK",
        0x10: "CKR_ATTRIBUTE_READ_ONLY",
        0x11: "CKR_ATTRIBUTE_SENSITIVE",
        0x12: "CKR_ATTRIBUTE_TYPE_INVALID",
        0x13: "CKR_ATTRIBUTE_VALUE_INVALID",
        0x1b: "CKR_ACTION_PROHIBITED",
        0x20: "CKR_DATA_INVALID",
        0x21: "CKR_DATA_LEN_RANGE",
        0x30: "CKR_DEVICE_ERROR",
        0x31: "CKR_DEVICE_MEMORY",
        0x32: "CKR_DEVICE_REMOVED",
        0x40: "CKR_ENCRYPTED_DATA_INVALID",
        0x41: "CKR_ENCRYPTED_DATA_LEN_RANGE",
        0x42: "CKR_AEAD_DECRYPT_FAILED",
        0x50: "CKR_FUNCTION_CANCELED",
        0x51: "CKR_FUNCTION_NOT_PARALLEL",
        0x54: "CKR_FUNCTION_NOT_SUPPORTED",
        0x60: "CKR_KEY_HANDLE_INVALID",
        0x62: "CKR_KEY_SIZE_RANGE",
        0x63: "CKR_KEY_TYPE_INCONSISTENT",
        0x64: "CKR_KEY_NOT_NEEDED",
        0x65: "CKR_KEY_CHANGED",
        0x66: "CKR_KEY_NEEDED",
        0x67: "CKR_KEY_INDIGESTIBLE",
        0x68: "CKR_KEY_FUNCTION_NOT_PERMITTED",
        0x69: "CKR_KEY_NOT_WRAPPABLE",
        0x6a: "CKR_KEY_UNEXTRACTABLE",
        0x70: "CKR_MECHANISM_INVALID",
        0x71: "CKR_MECHANISM_PARAM_INVALID",
        0x82: "CKR_OBJECT_HANDLE_INVALID",
        0x90: "CKR_OPERATION_ACTIVE",
        0x91: "CKR_OPERATION_NOT_INITIALIZED",
        0xa0: "CKR_PIN_INCORRECT",
        0xa1: "CKR_PIN_INVALID",
        0xa2: "CKR_PIN_LEN_RANGE",
        0xa3: "CKR_PIN_EXPIRED",
        0xa4: "CKR_PIN_LOCKED",
        0xb0: "CKR_SESSION_CLOSED",
        0xb1: "CKR_SESSION_COUNT",
        0xb3: "CKR_SESSION_HANDLE_INVALID",
        0xb4: "CKR_SESSION_PARALLEL_NOT_SUPPORTED",
        0xb5: "CKR_SESSION_READ_ONLY",
        0xb6: "CKR_SESSION_EXISTS",
        0xb7: "CKR_SESSION_READ_ONLY_EXISTS",
        0xb8: "CKR_SESSION_READ_WRITE_SO_EXISTS",
        0xc0: "CKR_SIGNATURE_INVALID",
        0xc1: "CKR_SIGNATURE_LEN_RANGE",
        0xd0: "CKR_TEMPLATE_INCOMPLETE",
        0xd1: "CKR_TEMPLATE_INCONSISTENT",
        0xe0: "CKR_TOKEN_NOT_PRESENT",
        0xe1: "CKR_TOKEN_NOT_RECOGNIZED",
        0xe2: "CKR_TOKEN_WRITE_PROTECTED",
        0xf0: "CKR_UNWRAPPING_KEY_HANDLE_INVALID",
        0xf1: "CKR_UNWRAPPING_KEY_SIZE_RANGE",
        0xf2: "CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT",
        0x100: "CKR_USER_ALREADY_LOGGED_IN",
        0x101: "CKR_USER_NOT_LOGGED_IN",
        0x102: "CKR_USER_PIN_NOT_INITIALIZED",
        0x103: "CKR_USER_TYPE_INVALID",
        0x104: "CKR_USER_ANOTHER_ALREADY_LOGGED_IN",
        0x105: "CKR_USER_TOO_MANY_TYPES",
        0x110: "CKR_WRAPPED_KEY_INVALID",
        0x112: "CKR_WRAPPED_KEY_LEN_RANGE",
        0x113: "CKR_WRAPPING_KEY_HANDLE_INVALID",
        0x114: "CKR_WRAPPING_KEY_SIZE_RANGE",
        0x115: "CKR_WRAPPING_KEY_TYPE_INCONSISTENT",
        0x120: "CKR_RANDOM_SEED_NOT_SUPPORTED",
        0x121: "CKR_RANDOM_NO_RNG",
        0x130: "CKR_DOMAIN_PARAMS_INVALID",
        0x140: "CKR_CURVE_NOT_SUPPORTED",
        0x150: "CKR_BUFFER_TOO_SMALL",
        0x160: "CKR_SAVED_STATE_INVALID",
        0x170: "CKR_INFORMATION_SENSITIVE",
        0x180: "CKR_STATE_UNSAVEABLE",
        0x190: "CKR_CRYPTOKI_NOT_INITIALIZED",
        0x191: "CKR_CRYPTOKI_ALREADY_INITIALIZED",
        0x1a0: "CKR_MUTEX_BAD",
        0x1a1: "CKR_MUTEX_NOT_LOCKED",
        0x1b0: "CKR_NEW_PIN_MODE",
        0x1b1: "CKR_NEXT_OTP",
        0x1c0: "CKR_EXCEEDED_MAX_ITERATIONS",
        0x1c1: "CKR_FIPS_SELF_TEST_FAILED",
        0x1c2: "CKR_LIBRARY_LOAD_FAILED",
        0x1c3: "CKR_PIN_TOO_WEAK",
        0x1c4: "CKR_PUBLIC_KEY_INVALID",
        0x200: "CKR_FUNCTION_REJECTED",
        0x201: "CKR_TOKEN_RESOURCE_EXCEEDED",
        0x202: "CKR_OPERATION_CANCEL_FAILED",
        0x203: "CKR_KEY_EXHAUSTED",
    ]
}
