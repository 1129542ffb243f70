import Keyfob

/// What the process returns; part of the interface, so a number never changes its meaning.
struct ExitStatus: RawRepresentable, Hashable, Sendable {
    let rawValue: Int32

    init(rawValue: Int32) { self.rawValue = rawValue }

    /// Done, also when there was nothing to do.
    static let success = Self(rawValue: 0)
    /// Failed, not classified.
    static let failure = Self(rawValue: 1)
    /// Wrong usage.
    static let usage = Self(rawValue: 2)
    /// Not found.
    static let notFound = Self(rawValue: 3)
    /// Exists already, or a name that fits several things.
    static let conflict = Self(rawValue: 4)
    /// A wrong PIN or passphrase.
    static let wrongPIN = Self(rawValue: 5)
    /// Locked, or the PIN is blocked.
    static let locked = Self(rawValue: 6)
    /// A token, module or key that is needed is not there.
    static let absent = Self(rawValue: 7)
    /// The token, or the key on it, cannot do that.
    static let unsupported = Self(rawValue: 8)
    /// Input or a configuration that is damaged or in the wrong format.
    static let damaged = Self(rawValue: 9)
    /// There is something to do; only with `--exit-code`.
    static let attention = Self(rawValue: 10)
    /// Verification failed: a mismatch, an expired or an untrusted certificate.
    static let verification = Self(rawValue: 11)
    /// Refused: read-only, a permission, a policy, a protection.
    static let refused = Self(rawValue: 12)
    /// Busy, or a deadline passed.
    static let busy = Self(rawValue: 13)
    /// `run` failed before the program started.
    static let runFailed = Self(rawValue: 125)
    /// `run` found the program and cannot execute it.
    static let notExecutable = Self(rawValue: 126)
    /// `run` did not find the program.
    static let programNotFound = Self(rawValue: 127)
    /// Interrupted: by SIGINT, or by an answer.
    static let interrupted = Self(rawValue: 130)

    /// Ended by a signal: what a shell says of a program that the signal has ended.
    static func signalled(_ number: Int32) -> Self { Self(rawValue: 128 + number) }

    /// The status of a failure. A code this table does not know is a plain failure.
    init(_ code: KeychainError.Code) {
        self = Self.table[code] ?? .failure
    }

    /// Every code of `KeychainError`; a test reads that file and compares.
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
        .tokenDisobeyed: .unsupported,
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
