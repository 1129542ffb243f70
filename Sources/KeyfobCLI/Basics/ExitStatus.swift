import ArgumentParser
import Keyfob
import KeyfobManifest
import Synchronization

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
    /// A failure of Keyfob itself in a command whose other statuses are those of the program that it runs.
    static let ownFailure = Self(rawValue: 125)
    /// The program to run cannot be executed.
    static let programNotExecutable = Self(rawValue: 126)
    /// The program to run does not exist.
    static let programNotFound = Self(rawValue: 127)
    /// Interrupted by SIGINT, or cancelled by an answer.
    static let interrupted = Self(rawValue: 130)

    /// The status of a process that was ended by a signal, as shells report it.
    static func signalled(_ number: Int32) -> Self { Self(rawValue: 128 + number) }

    /// The status as an error that ends the command silently.
    var code: ExitCode { ExitCode(rawValue) }

    private static let isOfProgram = Atomic(false)

    /// From now on the statuses of failures belong to a program, and every failure of Keyfob itself is `ownFailure`.
    static func leaveToProgram() { isOfProgram.store(true, ordering: .relaxed) }

    /// The status of a failure of Keyfob itself.
    var ofFailure: Self { Self.isOfProgram.load(ordering: .relaxed) ? .ownFailure : self }

    /// The status for an error code; `failure` for an unknown code.
    init(_ code: KeychainError.Code) {
        self = Self.table[code] ?? Self.tableOfManifests[code] ?? .failure
    }

    /// The status of every code of `KeychainError`. A test checks that the table is complete.
    static let table = Dictionary(
        uniqueKeysWithValues: codes.flatMap { status, codes in codes.map { ($0, status) } })

    /// The status of the codes that the library of manifests adds.
    private static let tableOfManifests: [KeychainError.Code: ExitStatus] = [.manifestInvalid: .usage]

    private static let codes: KeyValuePairs<ExitStatus, [KeychainError.Code]> = [
        .failure: [.vaultUnavailable, .fileUnavailable, .diskFull, .issuerFailed, .failed],
        .usage: [.noSuchAttribute, .noSuchClass, .invalidArgument, .invalidReference],
        .notFound: [.itemNotFound, .noSuchKeychain, .notInitialized],
        .conflict: [.duplicateItem, .ambiguous, .tokenAmbiguous, .duplicateKeychain],
        .wrongPIN: [.pinIncorrect, .pinFinalTry, .pinRemembered, .passphraseIncorrect, .filePassphraseIncorrect],
        .locked: [.pinLocked, .pinRequired, .locked],
        .absent: [.tokenAbsent, .moduleNotLoaded, .wrappingKeyMissing],
        .unsupported: [
            .tokenFull, .mechanismUnsupported, .tokenContractViolation, .keyNotExtractable, .legacyEncryption,
        ],
        .damaged: [
            .invalidConfiguration, .vaultDamaged, .vaultTooNew, .fileDamaged, .pkcs12Damaged, .pkcs12Tampered,
            .unsupportedFormat,
        ],
        .verification: [
            .identityMismatch, .certificateExpired, .certificateNotYetValid, .chainIncomplete, .certificateUntrusted,
            .certificateHostMismatch, .certificateUsageMismatch, .certificateInvalid,
        ],
        .refused: [.dataTooLarge, .tokenReadOnly, .unsafeFile, .refused],
        .busy: [.vaultBusy, .timedOut],
        .interrupted: [.cancelled],
    ]
}
