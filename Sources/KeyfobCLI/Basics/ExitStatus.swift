import Keyfob

/// The exit status of the process. The numbers are part of the interface, so they never change their meaning.
struct ExitStatus: RawRepresentable, Hashable, Sendable {
    let rawValue: Int32

    init(rawValue: Int32) { self.rawValue = rawValue }

    /// Success, also if there was nothing to do.
    static let success = Self(rawValue: 0)
    /// An unclassified failure.
    static let failure = Self(rawValue: 1)
    /// Wrong usage.
    static let usage = Self(rawValue: 2)
    /// Not found.
    static let notFound = Self(rawValue: 3)
    /// Exists already, or the name is ambiguous.
    static let conflict = Self(rawValue: 4)
    /// Wrong PIN or passphrase.
    static let wrongPIN = Self(rawValue: 5)
    /// Locked, or the PIN is blocked.
    static let locked = Self(rawValue: 6)
    /// A required token, module or key is absent.
    static let absent = Self(rawValue: 7)
    /// The token or the key does not support the operation.
    static let unsupported = Self(rawValue: 8)
    /// Input or configuration is damaged or has the wrong format.
    static let damaged = Self(rawValue: 9)
    /// Something needs attention; only with `--exit-code`.
    static let attention = Self(rawValue: 10)
    /// Verification failed: a mismatch, or an expired or untrusted certificate.
    static let verification = Self(rawValue: 11)
    /// Refused: read-only, or by a permission, a policy or a protection.
    static let refused = Self(rawValue: 12)
    /// Busy, or a timeout.
    static let busy = Self(rawValue: 13)
    /// `run` failed before the program started.
    static let runFailed = Self(rawValue: 125)
    /// `run` found the program but cannot execute it.
    static let notExecutable = Self(rawValue: 126)
    /// `run` did not find the program.
    static let programNotFound = Self(rawValue: 127)
    /// Interrupted by SIGINT, or cancelled by an answer.
    static let interrupted = Self(rawValue: 130)

    /// The status of a process that was ended by a signal, as shells report it.
    static func signalled(_ number: Int32) -> Self { Self(rawValue: 128 + number) }

    /// The status for an error code; `failure` for an unknown code.
    init(_ code: KeychainError.Code) {
        self = Self.table[code] ?? .failure
    }

    /// The status of every code of `KeychainError`. A test checks that the table is complete.
    static let table: [KeychainError.Code: ExitStatus] = [
        .itemNotFound: .notFound,
        .duplicateItem: .conflict,
        .ambiguous: .conflict,
        .noSuchAttribute: .usage,
        .noSuchClass: .usage,
        .invalidArgument: .usage,
        .invalidReference: .usage,
        .dataTooLarge: .refused,

        .pinIncorrect: .wrongPIN,
        .pinLocked: .locked,
        .pinRequired: .locked,
        .pinFinalTry: .wrongPIN,
        .pinRemembered: .wrongPIN,
        .passphraseIncorrect: .wrongPIN,
        .locked: .locked,

        .tokenAbsent: .absent,
        .tokenAmbiguous: .conflict,
        .moduleNotLoaded: .absent,
        .tokenReadOnly: .refused,
        .tokenFull: .unsupported,
        .mechanismUnsupported: .unsupported,
        .tokenContractViolation: .unsupported,
        .keyNotExtractable: .unsupported,
        .wrappingKeyMissing: .absent,

        .noSuchKeychain: .notFound,
        .duplicateKeychain: .conflict,
        .notInitialized: .notFound,
        .invalidConfiguration: .damaged,

        .vaultDamaged: .damaged,
        .vaultTooNew: .damaged,
        .vaultBusy: .busy,
        .vaultUnavailable: .failure,

        .fileDamaged: .damaged,
        .pkcs12Damaged: .damaged,
        .filePassphraseIncorrect: .wrongPIN,
        .pkcs12Tampered: .damaged,
        .legacyEncryption: .unsupported,
        .unsupportedFormat: .damaged,
        .unsafeFile: .refused,
        .fileUnavailable: .failure,
        .diskFull: .failure,
        .identityMismatch: .verification,
        .certificateExpired: .verification,
        .certificateNotYetValid: .verification,
        .chainIncomplete: .verification,
        .certificateUntrusted: .verification,
        .certificateHostMismatch: .verification,
        .certificateUsageMismatch: .verification,
        .certificateInvalid: .verification,
        .issuerFailed: .failure,

        .timedOut: .busy,
        .refused: .refused,
        .cancelled: .interrupted,
        .failed: .failure,
    ]
}
