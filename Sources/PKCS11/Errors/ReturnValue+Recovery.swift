extension ReturnValue {
    /// The recovery after which the refused operation may succeed; `.final` for vendor-defined and unknown numbers.
    public var recovery: Recovery { Self.recoveries[self] ?? .final }

    /// Whether the session must be closed after this return value, because its state is no longer known.
    var breaksSession: Bool {
        self == .generalError || self == .functionFailed || recovery == .reopenSession || recovery == .reloadModule
    }

    /// Return values with the same recovery, and the reason for it.
    struct RecoveryGroup: Sendable {
        let recovery: Recovery
        let reason: String
        let members: [ReturnValue]

        init(_ recovery: Recovery, _ reason: String, _ members: [ReturnValue]) {
            self.recovery = recovery
            self.reason = reason
            self.members = members
        }
    }

    private static let recoveries: [ReturnValue: Recovery] = {
        var result: [ReturnValue: Recovery] = [:]
        for group in recoveryGroups {
            for member in group.members { result[member] = group.recovery }
        }
        return result
    }()

    /// The table of recoveries; every declared return value is in exactly one group.
    static let recoveryGroups: [RecoveryGroup] = [
        RecoveryGroup(
            .retry, "The token was short of something that other threads or programs give back.",
            [.deviceMemory, .sessionCount, .tokenResourceExceeded]),
        RecoveryGroup(
            .lookUpAgain, "Handles die with a login, an initialisation, or the object; the object may live on.",
            [.objectHandleInvalid, .keyHandleInvalid, .wrappingKeyHandleInvalid, .unwrappingKeyHandleInvalid]),
        RecoveryGroup(
            .reopenSession, "The session is gone, or another operation stands half done in it.",
            [
                .sessionClosed, .sessionHandleInvalid, .operationActive, .operationNotInitialized,
                .operationCancelFailed,
            ]),
        RecoveryGroup(
            .reopenSession, "The token went away or its slot was renumbered: a new session finds it where it is now.",
            [.deviceError, .deviceRemoved, .tokenNotPresent, .slotIDInvalid]),
        RecoveryGroup(
            .reopenSession, "May be a lost daemon (tpm2) as well as a bad tag (SoftHSM): a fresh session tells.",
            [.generalError, .functionFailed]),
        RecoveryGroup(
            .logInAgain, "Another caller has logged the token out.",
            [.userNotLoggedIn]),
        RecoveryGroup(
            .logInAgain, "How NSS (first) and tpm2 (second) refuse a private key or a write after a logout.",
            [.hostMemory, .sessionReadOnly]),
        RecoveryGroup(
            .reloadModule, "Other code has finalised the module.",
            [.cryptokiNotInitialized]),
        RecoveryGroup(
            .final, "Not a refusal.",
            [.ok, .noEvent, .cryptokiAlreadyInitialized, .userAlreadyLoggedIn]),
        RecoveryGroup(
            .final, "A PIN is never sent twice: each wrong one brings the lock nearer.",
            [
                .pinIncorrect, .pinInvalid, .pinLengthRange, .pinExpired, .pinLocked, .pinTooWeak,
                .userPINNotInitialized, .newPINMode, .nextOTP,
            ]),
        RecoveryGroup(
            .final, "Another login stands in the way, and ending it is not ours to decide.",
            [.userTypeInvalid, .userAnotherAlreadyLoggedIn, .userTooManyTypes]),
        RecoveryGroup(
            .final, "The person or the device said no.",
            [.cancel, .functionCanceled, .functionRejected, .actionProhibited]),
        RecoveryGroup(
            .final, "The data are at fault.",
            [
                .dataInvalid, .dataLengthRange, .encryptedDataInvalid, .encryptedDataLengthRange, .aeadDecryptFailed,
                .signatureInvalid, .signatureLengthRange, .wrappedKeyInvalid, .wrappedKeyLengthRange,
            ]),
        RecoveryGroup(
            .final, "The key is of another kind than the operation wants, or forbids it.",
            [
                .keySizeRange, .keyTypeInconsistent, .keyNotNeeded, .keyChanged, .keyNeeded, .keyIndigestible,
                .keyFunctionNotPermitted, .keyNotWrappable, .keyUnextractable, .keyExhausted,
                .unwrappingKeySizeRange, .unwrappingKeyTypeInconsistent, .wrappingKeySizeRange,
                .wrappingKeyTypeInconsistent, .publicKeyInvalid,
            ]),
        RecoveryGroup(
            .final, "The token does not know the mechanism, its parameters, or the function.",
            [
                .mechanismInvalid, .mechanismParameterInvalid, .functionNotSupported, .functionNotParallel,
                .domainParametersInvalid, .curveNotSupported, .randomSeedNotSupported, .randomNoRNG,
            ]),
        RecoveryGroup(
            .final, "The template or the arguments are at fault.",
            [
                .attributeReadOnly, .attributeSensitive, .attributeTypeInvalid, .attributeValueInvalid,
                .templateIncomplete, .templateInconsistent, .argumentsBad, .bufferTooSmall, .informationSensitive,
                .savedStateInvalid, .stateUnsaveable, .exceededMaxIterations,
            ]),
        RecoveryGroup(
            .final, "The token refuses such sessions, or writing, altogether.",
            [
                .sessionParallelNotSupported, .sessionExists, .sessionReadOnlyExists, .sessionReadWriteSOExists,
                .tokenNotRecognized, .tokenWriteProtected,
            ]),
        RecoveryGroup(
            .final, "The module cannot work in this process.",
            [.needToCreateThreads, .cantLock, .mutexBad, .mutexNotLocked, .fipsSelfTestFailed, .libraryLoadFailed]),
    ]
}
