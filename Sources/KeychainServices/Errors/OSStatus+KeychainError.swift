import Foundation
import Keyfob

extension OSStatus {
    /// The result code for any error; `errSecInternalComponent` for an unknown one.
    init(_ error: any Error) {
        switch error {
        case let error as StatusError: self = error.status
        case let error as KeychainError: self.init(error)
        default:
            let error = error as NSError
            self = error.domain == NSOSStatusErrorDomain
                ? OSStatus(truncatingIfNeeded: error.code) : errSecInternalComponent
        }
    }

    /// The result code for an error of a keychain.
    ///
    /// For failures without a specific code, the return value of the token is more precise.
    init(_ error: KeychainError) {
        if let name = error.details["ckr"], let status = Self.byReturnValue[name],
            Self.refinedCodes.contains(error.code)
        {
            self = status
        } else if let number = error.details["sqlite"], let status = Self.bySQLite[number] {
            self = status
        } else {
            self.init(error.code)
        }
    }

    /// The result codes for SQLite result codes that are more precise than the code of the keychain.
    private static let bySQLite: [String: OSStatus] = [
        "3": errSecNotAvailable,  // SQLITE_PERM
        "7": errSecAllocate,  // SQLITE_NOMEM
        "8": errSecReadOnly,  // SQLITE_READONLY
        "10": errSecIO,  // SQLITE_IOERR
        "13": errSecNotAvailable,  // SQLITE_FULL
    ]

    /// The result code for a code; `errSecInternalComponent` for a code that this version does not know.
    init(_ code: KeychainError.Code) {
        self = Self.byCode[code] ?? errSecInternalComponent
    }

    /// Codes that cover different return values of tokens.
    private static let refinedCodes: Set<KeychainError.Code> = [.failed, .pinLocked, .mechanismUnsupported]

    /// The result codes for return values of a token if the keychain's code is one of `refinedCodes`.
    private static let byReturnValue: [String: OSStatus] = [
        "CKR_PIN_EXPIRED": errSecInteractionNotAllowed,
        "CKR_OBJECT_HANDLE_INVALID": errSecItemNotFound,
        "CKR_KEY_HANDLE_INVALID": errSecItemNotFound,
        "CKR_ENCRYPTED_DATA_INVALID": errSecDecode,
        "CKR_ATTRIBUTE_VALUE_INVALID": errSecParam,
        "CKR_ATTRIBUTE_TYPE_INVALID": errSecParam,
        "CKR_TEMPLATE_INCOMPLETE": errSecParam,
        "CKR_TEMPLATE_INCONSISTENT": errSecParam,
        "CKR_ARGUMENTS_BAD": errSecParam,
        "CKR_DATA_INVALID": errSecParam,
        "CKR_DATA_LEN_RANGE": errSecParam,
        "CKR_ENCRYPTED_DATA_LEN_RANGE": errSecParam,
        "CKR_KEY_TYPE_INCONSISTENT": errSecParam,
        "CKR_KEY_FUNCTION_NOT_PERMITTED": errSecParam,
        "CKR_KEY_SIZE_RANGE": errSecKeySizeNotAllowed,
        "CKR_SIGNATURE_INVALID": errSecVerifyFailed,
        "CKR_SIGNATURE_LEN_RANGE": errSecVerifyFailed,
        "CKR_HOST_MEMORY": errSecAllocate,
        "CKR_DEVICE_ERROR": errSecDeviceFailed,
        "CKR_GENERAL_ERROR": errSecInternal,
    ]

    /// The result code for every code of `KeychainError`.
    private static let byCode: [KeychainError.Code: OSStatus] = [
        .itemNotFound: errSecItemNotFound,
        .duplicateItem: errSecDuplicateItem,
        .ambiguous: errSecInvalidSearchRef,
        .noSuchAttribute: errSecNoSuchAttr,
        .noSuchClass: errSecNoSuchClass,
        .invalidArgument: errSecParam,
        .invalidReference: errSecParam,
        .dataTooLarge: errSecDataTooLarge,

        .pinIncorrect: errSecAuthFailed,
        .pinLocked: errSecAuthFailed,
        .pinRequired: errSecInteractionNotAllowed,
        .pinFinalTry: errSecAuthFailed,
        .pinRemembered: errSecAuthFailed,
        .passphraseIncorrect: errSecAuthFailed,
        .locked: errSecInteractionNotAllowed,

        .tokenAbsent: errSecNotAvailable,
        .tokenAmbiguous: errSecNotAvailable,
        .moduleNotLoaded: errSecNotAvailable,
        .tokenReadOnly: errSecReadOnly,
        .tokenFull: errSecAllocate,
        .mechanismUnsupported: errSecUnimplemented,
        .tokenContractViolation: errSecDeviceFailed,
        .keyNotExtractable: errSecUnimplemented,
        .wrappingKeyMissing: errSecNotAvailable,

        .noSuchKeychain: errSecNoSuchKeychain,
        .duplicateKeychain: errSecDuplicateKeychain,
        .notInitialized: errSecNoDefaultKeychain,
        .invalidConfiguration: errSecInvalidKeychain,

        .vaultDamaged: errSecNotAvailable,
        .vaultTooNew: errSecWrongSecVersion,
        .vaultBusy: errSecDatabaseLocked,
        .vaultUnavailable: errSecNotAvailable,

        .fileDamaged: errSecDecode,
        .pkcs12Damaged: errSecDecode,
        .filePassphraseIncorrect: errSecAuthFailed,
        .pkcs12Tampered: errSecPkcs12VerifyFailure,
        .legacyEncryption: errSecUnsupportedFormat,
        .unsupportedFormat: errSecUnsupportedFormat,
        .unsafeFile: errSecWrPerm,
        .fileUnavailable: errSecIO,
        .diskFull: errSecDiskFull,
        .identityMismatch: errSecParam,
        .certificateExpired: errSecCertificateExpired,
        .certificateUntrusted: errSecNotTrusted,
        .certificateHostMismatch: errSecHostNameMismatch,
        .certificateUsageMismatch: errSecCertificateCannotOperate,
        .certificateInvalid: errSecNotSigner,
        .issuerFailed: errSecServiceNotAvailable,
        .certificateNotYetValid: errSecCertificateNotValidYet,
        .chainIncomplete: errSecCreateChainFailed,

        .timedOut: errSecServiceNotAvailable,
        .refused: errSecPolicyDenied,
        .cancelled: errSecUserCanceled,
        .failed: errSecInternal,
    ]

    /// Whether the table has `code`.
    static func isInTable(_ code: KeychainError.Code) -> Bool { byCode[code] != nil }
}

extension KeychainError.Code {
    /// The code for a result code; `failed` if none is closer, `nil` for success.
    ///
    /// If several codes share a result code, this is the most general one.
    init?(_ status: OSStatus) {
        guard status != errSecSuccess else { return nil }
        self = Self.byStatus[status] ?? .failed
    }

    private static let byStatus: [OSStatus: Self] = [
        errSecItemNotFound: .itemNotFound,
        errSecDuplicateItem: .duplicateItem,
        errSecInvalidSearchRef: .ambiguous,
        errSecNoSuchAttr: .noSuchAttribute,
        errSecNoSuchClass: .noSuchClass,
        errSecParam: .invalidArgument,
        errSecInvalidItemRef: .invalidReference,
        errSecDataTooLarge: .dataTooLarge,
        errSecAuthFailed: .pinIncorrect,
        errSecInteractionNotAllowed: .locked,
        errSecInteractionRequired: .pinRequired,
        errSecAuthNeeded: .pinRequired,
        errSecNotAvailable: .vaultUnavailable,
        errSecReadOnly: .tokenReadOnly,
        errSecAllocate: .tokenFull,
        errSecUnimplemented: .mechanismUnsupported,
        errSecDeviceFailed: .tokenContractViolation,
        errSecKeyIsSensitive: .keyNotExtractable,
        errSecNoSuchKeychain: .noSuchKeychain,
        errSecDuplicateKeychain: .duplicateKeychain,
        errSecNoDefaultKeychain: .notInitialized,
        errSecInvalidKeychain: .invalidConfiguration,
        errSecWrongSecVersion: .vaultTooNew,
        errSecDatabaseLocked: .vaultBusy,
        errSecDecode: .fileDamaged,
        errSecPassphraseRequired: .filePassphraseIncorrect,
        errSecPkcs12VerifyFailure: .pkcs12Tampered,
        errSecUnsupportedFormat: .unsupportedFormat,
        errSecUnknownFormat: .unsupportedFormat,
        errSecWrPerm: .unsafeFile,
        errSecIO: .fileUnavailable,
        errSecDiskFull: .diskFull,
        errSecCertificateExpired: .certificateExpired,
        errSecCertificateNotValidYet: .certificateNotYetValid,
        errSecCreateChainFailed: .chainIncomplete,
        errSecServiceNotAvailable: .timedOut,
        errSecPolicyDenied: .refused,
        errSecMissingEntitlement: .refused,
        errSecUserCanceled: .cancelled,
        errSecInternal: .failed,
    ]
}
