package import PKCS11

/// The operation that a token refused, which determines the meaning of the error.
package struct TokenOperation: Sendable, Hashable {
    package let verb: String
    /// Tokens report a failure to unwrap as "cannot decrypt", under several names.
    package var isUnwrapping = false

    package static let login = TokenOperation(verb: "log in")
    package static let logout = TokenOperation(verb: "log out")
    package static let read = TokenOperation(verb: "read its objects")
    package static let create = TokenOperation(verb: "store an object")
    package static let change = TokenOperation(verb: "change an object")
    package static let destroy = TokenOperation(verb: "remove an object")
    package static let generate = TokenOperation(verb: "generate a key")
    package static let sign = TokenOperation(verb: "sign")
    package static let decrypt = TokenOperation(verb: "decrypt")
    package static let derive = TokenOperation(verb: "agree on a key")
    package static let wrap = TokenOperation(verb: "wrap a key")
    package static let unwrap = TokenOperation(verb: "unwrap a key", isUnwrapping: true)
    package static let export = TokenOperation(verb: "give a key out")
    package static let changePIN = TokenOperation(verb: "change its PIN")
    package static let setPIN = TokenOperation(verb: "set its PIN")
    package static let initialize = TokenOperation(verb: "be initialised")

    /// Whether the operation changes the token, so that a write-protected token refuses it.
    package var writes: Bool {
        [.create, .change, .destroy, .generate, .changePIN, .setPIN, .initialize].contains(self)
    }
}

extension PKCS11Error {
    /// Whether the token says that it lacks the function.
    var isRefusalOfFunction: Bool { [.functionNotSupported, .mechanismInvalid].contains(returnValue) }
}

extension KeychainError {
    /// Return values with which tokens report that they did not make a ciphertext.
    private static let cannotDecrypt: Set<ReturnValue> = [
        .encryptedDataInvalid, .encryptedDataLengthRange, .wrappedKeyInvalid, .wrappedKeyLengthRange,
        .aeadDecryptFailed,
        .generalError,
    ]

    /// Returns the error for a refusal by a token.
    ///
    /// PKCS#11 reports no number of remaining PIN tries, only flags: count low, final try and locked.
    ///
    /// - Parameters:
    ///   - serial: The token's serial number, if known.
    ///   - flags: The token's flags after the refusal, if they were read.
    ///   - tries: The tries that Keyfob has counted, for a token that reports none.
    ///   - profile: The profile of the token, if it is known.
    package static func token(
        _ error: PKCS11Error, _ operation: TokenOperation, token label: String, serial: String? = nil,
        flags: TokenFlags = [], tries: CountedTries? = nil, profile: TokenProfile = .standard
    ) -> KeychainError {
        var details = ["token": label, "ckr": error.returnValue.name, "function": error.function.rawValue]
        if let serial { details["serial"] = serial }
        func make(_ code: Code, _ message: String, _ hint: String?) -> KeychainError {
            KeychainError(code, message, hint: hint, details: details, cause: error)
        }
        func make(_ code: Code, _ message: String, _ remedies: [Remedy]) -> KeychainError {
            KeychainError(code, message, remedies: remedies, details: details, cause: error)
        }
        if error.isFailureOfModule { return module(error, named: nil, details: details) }
        switch error.returnValue {
        case .pinLocked,
            .pinIncorrect where flags.contains(.userPINLocked):
            return make(
                .pinLocked, "the PIN of token \"\(label)\" is blocked.",
                profile.has(.locksOutSecurityOfficer)
                    ? [
                        Remedy(
                            "The SO PIN is blocked as well, for a time that the TPM determines. Wait, or use the "
                                + "lockout authorisation of the TPM: tpm2_dictionarylockout --clear-lockout. Keys on "
                                + "it are intact.")
                    ]
                    : [Remedy("Keys on it are intact. Unblock it with the SO PIN (PUK)", .unblockPIN(token: label))])
        case .pinIncorrect where error.function == .getTokenInfo || flags.contains(.userPINFinalTry):
            details["tries"] = "final"
            let isSent = error.function != .getTokenInfo
            return make(
                isSent ? .pinIncorrect : .pinFinalTry,
                isSent
                    ? "wrong PIN for token \"\(label)\"; ONE try left before it blocks."
                    : "token \"\(label)\" has ONE try left before it blocks; the PIN was not sent.",
                ["Stop unless you are sure.", Remedy("To try", .change(.finalTry))])
        case .pinIncorrect, .pinInvalid, .pinLengthRange,
            .argumentsBad where error.isWrongPIN:
            if let tries { return wrongPIN(tries, error, token: label, details) }
            let isLow = flags.contains(.userPINCountLow)
            if isLow { details["tries"] = "low" }
            return make(
                .pinIncorrect,
                "wrong PIN for token \"\(label)\"" + (isLow ? "; a few tries left before it blocks." : ".")
                    + (flags.contains(.userPINToBeChanged) ? " The token says that its PIN must be changed." : ""),
                "Check the PIN source before trying again; nothing is retried automatically.")
        case .pinExpired:
            return make(
                .pinLocked,
                "the PIN of token \"\(label)\" "
                    + (flags.contains(.userPINToBeChanged) ? "must be changed before it is used." : "has expired."),
                [Remedy("Set a new one", .changePIN(token: label))])
        case .userPINNotInitialized:
            return make(
                .locked, "token \"\(label)\" has no user PIN yet, so no login is possible.",
                [Remedy("Set one with the SO PIN", .setPIN(token: label))])
        case .userNotLoggedIn where error.function == .login:
            return make(
                .locked, "token \"\(label)\" was logged out by another program again and again.",
                "Try again when that program has ended.")
        case .sessionCount where error.detail != nil:
            // Not returned by a token: this process waited for a session or a login until its deadline.
            return make(
                .timedOut, "token \"\(label)\" was not ready to \(operation.verb) in time: \(error.detail ?? "").",
                ["Is it waiting to be touched, or for its PIN?", Remedy("To wait longer", .change(.timeout))])
        case .userNotLoggedIn:
            return make(
                .locked, "token \"\(label)\" wants a login to \(operation.verb).", [Remedy("Unlock it", .unlock())])
        case .tokenNotPresent, .deviceRemoved, .slotIDInvalid, .tokenNotRecognized:
            return make(
                .tokenAbsent, "token \"\(label)\"\(serial.map { " (serial \($0))" } ?? "") is not present.",
                [Remedy("Insert it, or see what is there", .listTokens)])
        case .tokenWriteProtected, .sessionReadOnly, .actionProhibited:
            return make(
                .tokenReadOnly, "token \"\(label)\" is write-protected; nothing was changed.",
                [Remedy("Write with the vendor's tool, or store elsewhere", .change(.token))])
        case .argumentsBad where error.function == .getSlotList && error.detail != nil:
            // Not returned by a token: several tokens have the label, and no serial number distinguishes them.
            return make(
                .tokenAmbiguous, "it is not clear which token is \"\(label)\": \(error.detail ?? "").",
                ["Leave only one of them inserted, or give them different labels.", Remedy("List them", .listTokens)])
        case .deviceMemory:
            return make(
                .tokenFull, "token \"\(label)\" has no room for another object.",
                [Remedy("Remove one", .listObjects(token: label))])
        case .mechanismInvalid, .mechanismParameterInvalid, .functionNotSupported, .keySizeRange, .curveNotSupported,
            .domainParametersInvalid:
            return make(
                .mechanismUnsupported,
                "token \"\(label)\" cannot \(operation.verb) this way (\(error.returnValue.name)).",
                [Remedy("See what it can do", .listMechanisms)])
        case .keyNotWrappable:
            return make(
                .keyNotExtractable, "token \"\(label)\" does not give out keys of this kind.",
                [Remedy("Use it in place", .showURI(nil))])
        case .attributeSensitive, .keyUnextractable:
            return make(
                .keyNotExtractable, "the key cannot leave token \"\(label)\": it is marked not extractable.",
                [Remedy("Use it in place", .showURI(nil))])
        case .cantLock where error.function == .initialize:
            return make(
                .refused, "token \"\(label)\" cannot be used: \(error.detail ?? error.returnValue.name).",
                "Fork before the parent opens a keychain, or start another program instead.")
        case .cantLock where error.detail != nil:
            // Not returned by a token either.
            return make(
                .timedOut, "token \"\(label)\" was not ready to \(operation.verb) in time: \(error.detail ?? "").",
                "Does its reader, or the service behind it, hang? Of a SoftHSM token: which process has a lock on its "
                    + "files, lslocks tells; one that was stopped goes on after: kill -CONT PID")
        case .functionCanceled, .cancel:
            return make(.cancelled, "the operation on token \"\(label)\" was cancelled.", nil)
        case _ where operation.isUnwrapping && cannotDecrypt.contains(error.returnValue)
            && [.decrypt, .unwrapKey].contains(error.function):
            return make(
                .vaultDamaged, "token \"\(label)\" cannot unwrap a key of the vault: the row was damaged or changed.",
                "Restore it from a backup. The other items are not affected.")
        default:
            return make(
                .failed,
                "token \"\(label)\" could not \(operation.verb): \(error.returnValue.name) from "
                    + error.function.rawValue
                    + (error.detail.map { " (\($0))" } ?? "") + ".",
                isTrouble(error)
                    ? [
                        "Try again. If it fails again: is it plugged in, and the service behind it running?",
                        Remedy("See whether it is there", .listTokens),
                    ]
                    : [])
        }
    }

    /// The error for a wrong PIN of a token that does not report its tries.
    private static func wrongPIN(
        _ tries: CountedTries, _ cause: PKCS11Error, token label: String, _ details: [String: String]
    ) -> KeychainError {
        var details = details
        details["tries"] = tries.isFinal ? "final" : "low"
        let count = "\(tries.failures) of \(tries.limit) tries are used by Keyfob's count"
        return KeychainError(
            .pinIncorrect, "wrong PIN for token \"\(label)\". It does not report its tries; \(count).",
            remedies: tries.isFinal
                ? ["Stop unless you are sure.", Remedy("To try", .change(.finalTry))]
                : ["Check the PIN source before trying again; nothing is retried automatically."],
            details: details, cause: cause)
    }

    /// Whether the token failed before it accepted or rejected a login.
    private static func isTrouble(_ error: PKCS11Error) -> Bool {
        error.function == .login && [.deviceError, .generalError, .functionFailed].contains(error.returnValue)
    }
}
