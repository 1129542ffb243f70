// Written by Scripts/generate-constants; change the script, not this file.

import CP11Kit
import PKCS11

extension ConstantRow {
    /// Every `CKR_*` of the header and the shim.
    static let returnValues: [ConstantRow] = [
        ConstantRow("CKR_OK", "CKR_OK", ReturnValue.ok, CKR_OK),
        ConstantRow("CKR_CANCEL", "CKR_CANCEL", ReturnValue.cancel, CKR_CANCEL),
        ConstantRow("CKR_HOST_MEMORY", "CKR_HOST_MEMORY", ReturnValue.hostMemory, CKR_HOST_MEMORY),
        ConstantRow("CKR_SLOT_ID_INVALID", "CKR_SLOT_ID_INVALID", ReturnValue.slotIDInvalid, CKR_SLOT_ID_INVALID),
        ConstantRow("CKR_GENERAL_ERROR", "CKR_GENERAL_ERROR", ReturnValue.generalError, CKR_GENERAL_ERROR),
        ConstantRow("CKR_FUNCTION_FAILED", "CKR_FUNCTION_FAILED", ReturnValue.functionFailed, CKR_FUNCTION_FAILED),
        ConstantRow("CKR_ARGUMENTS_BAD", "CKR_ARGUMENTS_BAD", ReturnValue.argumentsBad, CKR_ARGUMENTS_BAD),
        ConstantRow("CKR_NO_EVENT", "CKR_NO_EVENT", ReturnValue.noEvent, CKR_NO_EVENT),
        ConstantRow(
            "CKR_NEED_TO_CREATE_THREADS", "CKR_NEED_TO_CREATE_THREADS",
            ReturnValue.needToCreateThreads, CKR_NEED_TO_CREATE_THREADS),
        ConstantRow("CKR_CANT_LOCK", "CKR_CANT_LOCK", ReturnValue.cantLock, CKR_CANT_LOCK),
        ConstantRow(
            "CKR_ATTRIBUTE_READ_ONLY", "CKR_ATTRIBUTE_READ_ONLY",
            ReturnValue.attributeReadOnly, CKR_ATTRIBUTE_READ_ONLY),
        ConstantRow(
            "CKR_ATTRIBUTE_SENSITIVE", "CKR_ATTRIBUTE_SENSITIVE",
            ReturnValue.attributeSensitive, CKR_ATTRIBUTE_SENSITIVE),
        ConstantRow(
            "CKR_ATTRIBUTE_TYPE_INVALID", "CKR_ATTRIBUTE_TYPE_INVALID",
            ReturnValue.attributeTypeInvalid, CKR_ATTRIBUTE_TYPE_INVALID),
        ConstantRow(
            "CKR_ATTRIBUTE_VALUE_INVALID", "CKR_ATTRIBUTE_VALUE_INVALID",
            ReturnValue.attributeValueInvalid, CKR_ATTRIBUTE_VALUE_INVALID),
        ConstantRow(
            "CKR_ACTION_PROHIBITED", "CKR_ACTION_PROHIBITED",
            ReturnValue.actionProhibited, CKR_ACTION_PROHIBITED),
        ConstantRow("CKR_DATA_INVALID", "CKR_DATA_INVALID", ReturnValue.dataInvalid, CKR_DATA_INVALID),
        ConstantRow("CKR_DATA_LEN_RANGE", "CKR_DATA_LEN_RANGE", ReturnValue.dataLengthRange, CKR_DATA_LEN_RANGE),
        ConstantRow("CKR_DEVICE_ERROR", "CKR_DEVICE_ERROR", ReturnValue.deviceError, CKR_DEVICE_ERROR),
        ConstantRow("CKR_DEVICE_MEMORY", "CKR_DEVICE_MEMORY", ReturnValue.deviceMemory, CKR_DEVICE_MEMORY),
        ConstantRow("CKR_DEVICE_REMOVED", "CKR_DEVICE_REMOVED", ReturnValue.deviceRemoved, CKR_DEVICE_REMOVED),
        ConstantRow(
            "CKR_ENCRYPTED_DATA_INVALID", "CKR_ENCRYPTED_DATA_INVALID",
            ReturnValue.encryptedDataInvalid, CKR_ENCRYPTED_DATA_INVALID),
        ConstantRow(
            "CKR_ENCRYPTED_DATA_LEN_RANGE", "CKR_ENCRYPTED_DATA_LEN_RANGE",
            ReturnValue.encryptedDataLengthRange, CKR_ENCRYPTED_DATA_LEN_RANGE),
        ConstantRow(
            "CKR_FUNCTION_CANCELED", "CKR_FUNCTION_CANCELED",
            ReturnValue.functionCanceled, CKR_FUNCTION_CANCELED),
        ConstantRow(
            "CKR_FUNCTION_NOT_PARALLEL", "CKR_FUNCTION_NOT_PARALLEL",
            ReturnValue.functionNotParallel, CKR_FUNCTION_NOT_PARALLEL),
        ConstantRow(
            "CKR_FUNCTION_NOT_SUPPORTED", "CKR_FUNCTION_NOT_SUPPORTED",
            ReturnValue.functionNotSupported, CKR_FUNCTION_NOT_SUPPORTED),
        ConstantRow(
            "CKR_KEY_HANDLE_INVALID", "CKR_KEY_HANDLE_INVALID",
            ReturnValue.keyHandleInvalid, CKR_KEY_HANDLE_INVALID),
        ConstantRow("CKR_KEY_SIZE_RANGE", "CKR_KEY_SIZE_RANGE", ReturnValue.keySizeRange, CKR_KEY_SIZE_RANGE),
        ConstantRow(
            "CKR_KEY_TYPE_INCONSISTENT", "CKR_KEY_TYPE_INCONSISTENT",
            ReturnValue.keyTypeInconsistent, CKR_KEY_TYPE_INCONSISTENT),
        ConstantRow("CKR_KEY_NOT_NEEDED", "CKR_KEY_NOT_NEEDED", ReturnValue.keyNotNeeded, CKR_KEY_NOT_NEEDED),
        ConstantRow("CKR_KEY_CHANGED", "CKR_KEY_CHANGED", ReturnValue.keyChanged, CKR_KEY_CHANGED),
        ConstantRow("CKR_KEY_NEEDED", "CKR_KEY_NEEDED", ReturnValue.keyNeeded, CKR_KEY_NEEDED),
        ConstantRow("CKR_KEY_INDIGESTIBLE", "CKR_KEY_INDIGESTIBLE", ReturnValue.keyIndigestible, CKR_KEY_INDIGESTIBLE),
        ConstantRow(
            "CKR_KEY_FUNCTION_NOT_PERMITTED", "CKR_KEY_FUNCTION_NOT_PERMITTED",
            ReturnValue.keyFunctionNotPermitted, CKR_KEY_FUNCTION_NOT_PERMITTED),
        ConstantRow(
            "CKR_KEY_NOT_WRAPPABLE", "CKR_KEY_NOT_WRAPPABLE",
            ReturnValue.keyNotWrappable, CKR_KEY_NOT_WRAPPABLE),
        ConstantRow(
            "CKR_KEY_UNEXTRACTABLE", "CKR_KEY_UNEXTRACTABLE",
            ReturnValue.keyUnextractable, CKR_KEY_UNEXTRACTABLE),
        ConstantRow(
            "CKR_MECHANISM_INVALID", "CKR_MECHANISM_INVALID",
            ReturnValue.mechanismInvalid, CKR_MECHANISM_INVALID),
        ConstantRow(
            "CKR_MECHANISM_PARAM_INVALID", "CKR_MECHANISM_PARAM_INVALID",
            ReturnValue.mechanismParameterInvalid, CKR_MECHANISM_PARAM_INVALID),
        ConstantRow(
            "CKR_OBJECT_HANDLE_INVALID", "CKR_OBJECT_HANDLE_INVALID",
            ReturnValue.objectHandleInvalid, CKR_OBJECT_HANDLE_INVALID),
        ConstantRow("CKR_OPERATION_ACTIVE", "CKR_OPERATION_ACTIVE", ReturnValue.operationActive, CKR_OPERATION_ACTIVE),
        ConstantRow(
            "CKR_OPERATION_NOT_INITIALIZED", "CKR_OPERATION_NOT_INITIALIZED",
            ReturnValue.operationNotInitialized, CKR_OPERATION_NOT_INITIALIZED),
        ConstantRow("CKR_PIN_INCORRECT", "CKR_PIN_INCORRECT", ReturnValue.pinIncorrect, CKR_PIN_INCORRECT),
        ConstantRow("CKR_PIN_INVALID", "CKR_PIN_INVALID", ReturnValue.pinInvalid, CKR_PIN_INVALID),
        ConstantRow("CKR_PIN_LEN_RANGE", "CKR_PIN_LEN_RANGE", ReturnValue.pinLengthRange, CKR_PIN_LEN_RANGE),
        ConstantRow("CKR_PIN_EXPIRED", "CKR_PIN_EXPIRED", ReturnValue.pinExpired, CKR_PIN_EXPIRED),
        ConstantRow("CKR_PIN_LOCKED", "CKR_PIN_LOCKED", ReturnValue.pinLocked, CKR_PIN_LOCKED),
        ConstantRow("CKR_SESSION_CLOSED", "CKR_SESSION_CLOSED", ReturnValue.sessionClosed, CKR_SESSION_CLOSED),
        ConstantRow("CKR_SESSION_COUNT", "CKR_SESSION_COUNT", ReturnValue.sessionCount, CKR_SESSION_COUNT),
        ConstantRow(
            "CKR_SESSION_HANDLE_INVALID", "CKR_SESSION_HANDLE_INVALID",
            ReturnValue.sessionHandleInvalid, CKR_SESSION_HANDLE_INVALID),
        ConstantRow(
            "CKR_SESSION_PARALLEL_NOT_SUPPORTED", "CKR_SESSION_PARALLEL_NOT_SUPPORTED",
            ReturnValue.sessionParallelNotSupported, CKR_SESSION_PARALLEL_NOT_SUPPORTED),
        ConstantRow(
            "CKR_SESSION_READ_ONLY", "CKR_SESSION_READ_ONLY",
            ReturnValue.sessionReadOnly, CKR_SESSION_READ_ONLY),
        ConstantRow("CKR_SESSION_EXISTS", "CKR_SESSION_EXISTS", ReturnValue.sessionExists, CKR_SESSION_EXISTS),
        ConstantRow(
            "CKR_SESSION_READ_ONLY_EXISTS", "CKR_SESSION_READ_ONLY_EXISTS",
            ReturnValue.sessionReadOnlyExists, CKR_SESSION_READ_ONLY_EXISTS),
        ConstantRow(
            "CKR_SESSION_READ_WRITE_SO_EXISTS", "CKR_SESSION_READ_WRITE_SO_EXISTS",
            ReturnValue.sessionReadWriteSOExists, CKR_SESSION_READ_WRITE_SO_EXISTS),
        ConstantRow(
            "CKR_SIGNATURE_INVALID", "CKR_SIGNATURE_INVALID",
            ReturnValue.signatureInvalid, CKR_SIGNATURE_INVALID),
        ConstantRow(
            "CKR_SIGNATURE_LEN_RANGE", "CKR_SIGNATURE_LEN_RANGE",
            ReturnValue.signatureLengthRange, CKR_SIGNATURE_LEN_RANGE),
        ConstantRow(
            "CKR_TEMPLATE_INCOMPLETE", "CKR_TEMPLATE_INCOMPLETE",
            ReturnValue.templateIncomplete, CKR_TEMPLATE_INCOMPLETE),
        ConstantRow(
            "CKR_TEMPLATE_INCONSISTENT", "CKR_TEMPLATE_INCONSISTENT",
            ReturnValue.templateInconsistent, CKR_TEMPLATE_INCONSISTENT),
        ConstantRow(
            "CKR_TOKEN_NOT_PRESENT", "CKR_TOKEN_NOT_PRESENT",
            ReturnValue.tokenNotPresent, CKR_TOKEN_NOT_PRESENT),
        ConstantRow(
            "CKR_TOKEN_NOT_RECOGNIZED", "CKR_TOKEN_NOT_RECOGNIZED",
            ReturnValue.tokenNotRecognized, CKR_TOKEN_NOT_RECOGNIZED),
        ConstantRow(
            "CKR_TOKEN_WRITE_PROTECTED", "CKR_TOKEN_WRITE_PROTECTED",
            ReturnValue.tokenWriteProtected, CKR_TOKEN_WRITE_PROTECTED),
        ConstantRow(
            "CKR_UNWRAPPING_KEY_HANDLE_INVALID", "CKR_UNWRAPPING_KEY_HANDLE_INVALID",
            ReturnValue.unwrappingKeyHandleInvalid, CKR_UNWRAPPING_KEY_HANDLE_INVALID),
        ConstantRow(
            "CKR_UNWRAPPING_KEY_SIZE_RANGE", "CKR_UNWRAPPING_KEY_SIZE_RANGE",
            ReturnValue.unwrappingKeySizeRange, CKR_UNWRAPPING_KEY_SIZE_RANGE),
        ConstantRow(
            "CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT", "CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT",
            ReturnValue.unwrappingKeyTypeInconsistent, CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT),
        ConstantRow(
            "CKR_USER_ALREADY_LOGGED_IN", "CKR_USER_ALREADY_LOGGED_IN",
            ReturnValue.userAlreadyLoggedIn, CKR_USER_ALREADY_LOGGED_IN),
        ConstantRow(
            "CKR_USER_NOT_LOGGED_IN", "CKR_USER_NOT_LOGGED_IN",
            ReturnValue.userNotLoggedIn, CKR_USER_NOT_LOGGED_IN),
        ConstantRow(
            "CKR_USER_PIN_NOT_INITIALIZED", "CKR_USER_PIN_NOT_INITIALIZED",
            ReturnValue.userPINNotInitialized, CKR_USER_PIN_NOT_INITIALIZED),
        ConstantRow(
            "CKR_USER_TYPE_INVALID", "CKR_USER_TYPE_INVALID",
            ReturnValue.userTypeInvalid, CKR_USER_TYPE_INVALID),
        ConstantRow(
            "CKR_USER_ANOTHER_ALREADY_LOGGED_IN", "CKR_USER_ANOTHER_ALREADY_LOGGED_IN",
            ReturnValue.userAnotherAlreadyLoggedIn, CKR_USER_ANOTHER_ALREADY_LOGGED_IN),
        ConstantRow(
            "CKR_USER_TOO_MANY_TYPES", "CKR_USER_TOO_MANY_TYPES",
            ReturnValue.userTooManyTypes, CKR_USER_TOO_MANY_TYPES),
        ConstantRow(
            "CKR_WRAPPED_KEY_INVALID", "CKR_WRAPPED_KEY_INVALID",
            ReturnValue.wrappedKeyInvalid, CKR_WRAPPED_KEY_INVALID),
        ConstantRow(
            "CKR_WRAPPED_KEY_LEN_RANGE", "CKR_WRAPPED_KEY_LEN_RANGE",
            ReturnValue.wrappedKeyLengthRange, CKR_WRAPPED_KEY_LEN_RANGE),
        ConstantRow(
            "CKR_WRAPPING_KEY_HANDLE_INVALID", "CKR_WRAPPING_KEY_HANDLE_INVALID",
            ReturnValue.wrappingKeyHandleInvalid, CKR_WRAPPING_KEY_HANDLE_INVALID),
        ConstantRow(
            "CKR_WRAPPING_KEY_SIZE_RANGE", "CKR_WRAPPING_KEY_SIZE_RANGE",
            ReturnValue.wrappingKeySizeRange, CKR_WRAPPING_KEY_SIZE_RANGE),
        ConstantRow(
            "CKR_WRAPPING_KEY_TYPE_INCONSISTENT", "CKR_WRAPPING_KEY_TYPE_INCONSISTENT",
            ReturnValue.wrappingKeyTypeInconsistent, CKR_WRAPPING_KEY_TYPE_INCONSISTENT),
        ConstantRow(
            "CKR_RANDOM_SEED_NOT_SUPPORTED", "CKR_RANDOM_SEED_NOT_SUPPORTED",
            ReturnValue.randomSeedNotSupported, CKR_RANDOM_SEED_NOT_SUPPORTED),
        ConstantRow("CKR_RANDOM_NO_RNG", "CKR_RANDOM_NO_RNG", ReturnValue.randomNoRNG, CKR_RANDOM_NO_RNG),
        ConstantRow(
            "CKR_DOMAIN_PARAMS_INVALID", "CKR_DOMAIN_PARAMS_INVALID",
            ReturnValue.domainParametersInvalid, CKR_DOMAIN_PARAMS_INVALID),
        ConstantRow(
            "CKR_CURVE_NOT_SUPPORTED", "CKR_CURVE_NOT_SUPPORTED",
            ReturnValue.curveNotSupported, CKR_CURVE_NOT_SUPPORTED),
        ConstantRow("CKR_BUFFER_TOO_SMALL", "CKR_BUFFER_TOO_SMALL", ReturnValue.bufferTooSmall, CKR_BUFFER_TOO_SMALL),
        ConstantRow(
            "CKR_SAVED_STATE_INVALID", "CKR_SAVED_STATE_INVALID",
            ReturnValue.savedStateInvalid, CKR_SAVED_STATE_INVALID),
        ConstantRow(
            "CKR_INFORMATION_SENSITIVE", "CKR_INFORMATION_SENSITIVE",
            ReturnValue.informationSensitive, CKR_INFORMATION_SENSITIVE),
        ConstantRow("CKR_STATE_UNSAVEABLE", "CKR_STATE_UNSAVEABLE", ReturnValue.stateUnsaveable, CKR_STATE_UNSAVEABLE),
        ConstantRow(
            "CKR_CRYPTOKI_NOT_INITIALIZED", "CKR_CRYPTOKI_NOT_INITIALIZED",
            ReturnValue.cryptokiNotInitialized, CKR_CRYPTOKI_NOT_INITIALIZED),
        ConstantRow(
            "CKR_CRYPTOKI_ALREADY_INITIALIZED", "CKR_CRYPTOKI_ALREADY_INITIALIZED",
            ReturnValue.cryptokiAlreadyInitialized, CKR_CRYPTOKI_ALREADY_INITIALIZED),
        ConstantRow("CKR_MUTEX_BAD", "CKR_MUTEX_BAD", ReturnValue.mutexBad, CKR_MUTEX_BAD),
        ConstantRow("CKR_MUTEX_NOT_LOCKED", "CKR_MUTEX_NOT_LOCKED", ReturnValue.mutexNotLocked, CKR_MUTEX_NOT_LOCKED),
        ConstantRow("CKR_NEW_PIN_MODE", "CKR_NEW_PIN_MODE", ReturnValue.newPINMode, CKR_NEW_PIN_MODE),
        ConstantRow("CKR_NEXT_OTP", "CKR_NEXT_OTP", ReturnValue.nextOTP, CKR_NEXT_OTP),
        ConstantRow(
            "CKR_EXCEEDED_MAX_ITERATIONS", "CKR_EXCEEDED_MAX_ITERATIONS",
            ReturnValue.exceededMaxIterations, CKR_EXCEEDED_MAX_ITERATIONS),
        ConstantRow(
            "CKR_FIPS_SELF_TEST_FAILED", "CKR_FIPS_SELF_TEST_FAILED",
            ReturnValue.fipsSelfTestFailed, CKR_FIPS_SELF_TEST_FAILED),
        ConstantRow(
            "CKR_LIBRARY_LOAD_FAILED", "CKR_LIBRARY_LOAD_FAILED",
            ReturnValue.libraryLoadFailed, CKR_LIBRARY_LOAD_FAILED),
        ConstantRow("CKR_PIN_TOO_WEAK", "CKR_PIN_TOO_WEAK", ReturnValue.pinTooWeak, CKR_PIN_TOO_WEAK),
        ConstantRow(
            "CKR_PUBLIC_KEY_INVALID", "CKR_PUBLIC_KEY_INVALID",
            ReturnValue.publicKeyInvalid, CKR_PUBLIC_KEY_INVALID),
        ConstantRow(
            "CKR_FUNCTION_REJECTED", "CKR_FUNCTION_REJECTED",
            ReturnValue.functionRejected, CKR_FUNCTION_REJECTED),
        ConstantRow(
            "CKR_AEAD_DECRYPT_FAILED", "CKR_AEAD_DECRYPT_FAILED",
            ReturnValue.aeadDecryptFailed, CKR_AEAD_DECRYPT_FAILED),
        ConstantRow(
            "CKR_TOKEN_RESOURCE_EXCEEDED", "CKR_TOKEN_RESOURCE_EXCEEDED",
            ReturnValue.tokenResourceExceeded, CKR_TOKEN_RESOURCE_EXCEEDED),
        ConstantRow(
            "CKR_OPERATION_CANCEL_FAILED", "CKR_OPERATION_CANCEL_FAILED",
            ReturnValue.operationCancelFailed, CKR_OPERATION_CANCEL_FAILED),
        ConstantRow("CKR_KEY_EXHAUSTED", "CKR_KEY_EXHAUSTED", ReturnValue.keyExhausted, CKR_KEY_EXHAUSTED),
    ]
}
