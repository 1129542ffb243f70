import Foundation
public import KeyfobPrimitives
public import PKCS11

/// The administration of a token: initialising it, and setting its PINs.
///
/// All calls block until the token answers. They need no keychain. A change of the PIN also reaches what Keyfob stores
/// for the keychains on the token: the file of a PIN that Keyfob made, the unlocked state, and the refused PINs.
///
/// > Important: A token counts wrong PINs and blocks. Each call sends a PIN at most once.
public struct TokenAdministration: Sendable {
    /// The slot of the token.
    public let slot: Slot
    /// Whether the token is one of those that Keyfob made for itself.
    public let isOwn: Bool

    let keychains: Keychains
    let options: Keychain.Options

    /// Administers the token in a slot.
    ///
    /// - Parameters:
    ///   - slot: The slot.
    ///   - isOwn: Whether the token is in Keyfob's own SoftHSM directory.
    ///   - directories: The directories of the keychains.
    ///   - options: The deadline of waits, and whether the last try of a PIN may be used.
    public init(
        of slot: Slot, isOwn: Bool = false, in directories: Directories = Directories(),
        options: Keychain.Options = .init()
    ) {
        self.slot = slot
        self.isOwn = isOwn
        keychains = Keychains(directories)
        self.options = options
    }

    /// Returns the token's description of itself. Corresponds to `C_GetTokenInfo`.
    ///
    /// - Throws: `KeychainError` with code `tokenAbsent`, or the code of another error of the token.
    public func info() throws(KeychainError) -> TokenInfo {
        do throws(PKCS11Error) { return try slot.tokenInfo() } catch {
            throw KeychainError.token(error, .read, token: "in slot \(slot.id)")
        }
    }

    /// Returns the number of objects on the token that are visible without a login.
    ///
    /// - Throws: `KeychainError` for an error of the token.
    public func publicObjectCount() throws(KeychainError) -> Int {
        let label = try info().label
        do throws(PKCS11Error) {
            let session = try slot.openSession(readWrite: false)
            let count = try session.findObjects([.token(true)]).count
            try session.close()
            return count
        } catch { throw KeychainError.token(error, .read, token: label) }
    }

    // MARK: Initialising

    /// Makes the token anew. Corresponds to `C_InitToken` and `C_InitPIN`.
    ///
    /// > Important: All objects on the token are destroyed, and the keychains on it lose their passwords.
    ///
    /// - Parameters:
    ///   - expected: The description of the token that the user agreed to destroy; another one in its place is refused.
    ///   - label: The token's new label, of 1 to 32 bytes.
    ///   - securityOfficerPIN: The present SO PIN; for a token that was never initialised, its new SO PIN.
    ///   - pin: The user PIN; `nil` to set none.
    /// - Returns: The token's new description.
    /// - Throws: `KeychainError` with code `invalidArgument` for a label that does not fit, or a PIN that the token
    ///   does not accept, `refused` for a token that Keyfob made, `pinIncorrect`, `pinFinalTry` or `pinLocked` for the
    ///   SO PIN, `timedOut` while another program uses the token, `mechanismUnsupported` or `tokenReadOnly`. If the
    ///   token is initialised and only the user PIN cannot be set, the message says so.
    public func initialize(
        expecting expected: TokenInfo? = nil, label: String, securityOfficerPIN: SecretBytes, pin: SecretBytes? = nil
    ) throws(KeychainError) -> TokenInfo {
        try Self.check(label)
        let former = try info()
        guard expected.map({ $0.serialNumber == former.serialNumber && $0.label == former.label }) ?? true else {
            throw KeychainError(
                .refused, "another token is in the slot now: \"\(former.label)\"; nothing was changed.",
                details: ["token": former.label])
        }
        if let pin { try Self.check(pin, for: former) }
        guard !isOwn else {
            throw KeychainError(
                .refused, "token \"\(former.label)\" was made by Keyfob, which does not know its SO PIN.",
                remedies: [Remedy("Make a keychain with a token of its own", .createKeychain)],
                details: ["token": former.label])
        }
        if former.flags.contains(.tokenInitialized) { try requireSecurityOfficerTries(former) }
        do throws(PKCS11Error) {
            try slot.initializeToken(label: label, securityOfficerPIN: securityOfficerPIN)
        } catch { throw failure(error, .initialize, former) }
        try forgetRefusedPINs(of: former)
        let made = try info()
        guard let pin else { return made }
        // NSS is uninitialised until it has a user PIN, and has an empty SO PIN until then.
        let officer = made.flags.contains(.tokenInitialized) ? securityOfficerPIN : SecretBytes(utf8: "")
        do throws(KeychainError) { try initializePIN(pin, officer, made) } catch {
            throw error.with(message: "token \"\(made.label)\" is initialised, but has no PIN: \(error.message)")
        }
        return try info()
    }

    /// Checks the length of a new PIN, as far as the token tells which it accepts.
    private static func check(_ pin: SecretBytes, for info: TokenInfo) throws(KeychainError) {
        guard info.pinLength.upperBound > 0, !info.pinLength.contains(pin.count) else { return }
        throw unacceptable(info, details: ["token": info.label], cause: nil)
    }

    private static func unacceptable(
        _ info: TokenInfo, details: [String: String], cause: PKCS11Error?
    ) -> KeychainError {
        let (shortest, longest) = (info.pinLength.lowerBound, info.pinLength.upperBound)
        return KeychainError(
            .invalidArgument, "token \"\(info.label)\" does not accept the new PIN; nothing was changed.",
            remedies: [Remedy("It takes \(shortest) to \(longest) characters; some tokens take only digits.")],
            details: details, cause: cause)
    }

    /// Checks the label of a new token.
    ///
    /// - Throws: `KeychainError` with code `invalidArgument`.
    public static func check(_ label: String) throws(KeychainError) {
        let isFine = (1...SoftHSMDirectory.longestLabel).contains(label.utf8.count) && label.last != " "
            && !label.unicodeScalars.contains { $0.properties.generalCategory == .control }
        guard isFine else {
            throw KeychainError(
                .invalidArgument,
                "a token's label has 1 to \(SoftHSMDirectory.longestLabel) bytes without control characters, and does "
                    + "not end in a blank.")
        }
    }

    // MARK: PINs

    /// Sets the first user PIN of a token. Corresponds to `C_InitPIN` in a session of the security officer.
    ///
    /// - Parameters:
    ///   - pin: The new PIN.
    ///   - securityOfficerPIN: The SO PIN.
    /// - Returns: The effect on the keychains on the token.
    /// - Throws: `KeychainError` with code `refused` if the token has a user PIN, and the errors of
    ///   `unblockPIN(settingTo:securityOfficerPIN:)`.
    public func setPIN(_ pin: SecretBytes, securityOfficerPIN: SecretBytes) throws -> PINChange {
        try options.withDeadline(isInProcess: isOwn) { [self] in
            let info = try info()
            guard !info.flags.contains(.userPINInitialized) || !info.flags.contains(.loginRequired) else {
                throw KeychainError(
                    .refused, "token \"\(info.label)\" has a PIN already; nothing was changed.",
                    remedies: [
                        Remedy("Change it", .changePIN(token: info.label)),
                        Remedy("If it is blocked or forgotten", .unblockPIN(token: info.label)),
                    ],
                    details: ["token": info.label])
            }
            return try unblockPIN(settingTo: pin, securityOfficerPIN: securityOfficerPIN)
        }
    }

    /// Sets a new user PIN in place of one that is blocked or forgotten. Keys on the token stay.
    ///
    /// Corresponds to `C_InitPIN` in a session of the security officer.
    ///
    /// - Parameters:
    ///   - pin: The new PIN.
    ///   - securityOfficerPIN: The SO PIN, which cards call PUK.
    /// - Returns: The effect on the keychains on the token.
    /// - Throws: `KeychainError` with code `invalidArgument` if the token does not accept the new PIN, `refused` for a
    ///   token that Keyfob made, `pinIncorrect`, `pinFinalTry` or `pinLocked` for the SO PIN, `timedOut` while another
    ///   program uses the token, `mechanismUnsupported` if the token offers no such way, or `tokenReadOnly`.
    public func unblockPIN(settingTo pin: SecretBytes, securityOfficerPIN: SecretBytes) throws -> PINChange {
        try options.withDeadline(isInProcess: isOwn) { [self] in
            let info = try info()
            guard !isOwn else {
                throw KeychainError(
                    .refused, "token \"\(info.label)\" was made by Keyfob, which does not know its SO PIN.",
                    remedies: [Remedy("The keychain on it knows the PIN. Unlock that", .unlock())],
                    details: ["token": info.label])
            }
            try Self.check(pin, for: info)
            try requireSecurityOfficerTries(info)
            return try changing(to: pin, info) { try initializePIN(pin, securityOfficerPIN, info) }
        }
    }

    private func initializePIN(
        _ pin: SecretBytes, _ securityOfficerPIN: SecretBytes, _ info: TokenInfo
    ) throws(KeychainError) {
        do throws(PKCS11Error) {
            let session = try slot.openSession(readWrite: true)
            try session.login(.securityOfficer, pin: securityOfficerPIN)
            try session.initializePIN(pin)
            try session.logout()
            try session.close()
        } catch { throw failure(error, .setPIN, info) }
    }

    /// Changes the user PIN. Corresponds to `C_SetPIN` in a session of the user.
    ///
    /// A login checks the present PIN first, so a wrong one costs one try.
    ///
    /// - Parameters:
    ///   - old: The present PIN.
    ///   - new: The new PIN.
    ///   - source: The source that gives the present PIN again; `nil` for a PIN that a person typed.
    /// - Returns: The effect on the keychains on the token.
    /// - Throws: `KeychainError` with code `refused` if a passphrase seals the PIN or the token wants none,
    ///   `invalidArgument` if the token does not accept the new PIN, `pinIncorrect`, `pinFinalTry`, `pinLocked` or
    ///   `pinRemembered` for the present PIN, `mechanismUnsupported` or `tokenReadOnly`.
    public func changePIN(
        from old: SecretBytes, to new: SecretBytes, storedIn source: PINSource? = nil
    ) throws -> PINChange {
        try options.withDeadline(isInProcess: isOwn) { [self] in
            let info = try info()
            try requireChangeablePIN(info)
            try Self.check(new, for: info)
            var pool = SessionPool.Configuration()
            pool.deadline = options.timeout
            pool.allowFinalTry = options.allowsFinalTry
            pool.slowCallNotice = options.slowCallNotice
            let store = TokenStore(
                uri: info.uri, softHSM: isOwn ? keychains.softHSM : nil, configuration: pool,
                memory: WrongPINMemory(directories: keychains.directories), openModule: { [slot] in slot.module },
                pin: { TokenPIN(old, storedIn: source) })
            return try changing(to: new, info) {
                do {
                    try store.withSession(.changePIN, idempotent: false) { try $0.setPIN(old: old, new: new) }
                    try store.logout()
                } catch let error as KeychainError {
                    guard let cause = error.cause as? PKCS11Error, cause.function == .setPIN else { throw error }
                    throw failure(cause, .changePIN, info)
                }
            }
        }
    }

    /// Checks that the token has a PIN that a person may change.
    ///
    /// - Parameter info: The token's description.
    /// - Throws: `KeychainError` with code `refused`.
    public func requireChangeablePIN(_ info: TokenInfo) throws {
        guard info.flags.contains(.loginRequired) else {
            throw KeychainError(
                .refused, "token \"\(info.label)\" requires no login, so it has no PIN to change.",
                remedies: [Remedy("Set one", .setPIN(token: info.label))], details: ["token": info.label])
        }
        guard let sealed = try keychains(on: info).first(where: { $0.sealedPIN != nil }) else { return }
        throw KeychainError(
            .refused,
            "the PIN of token \"\(info.label)\" is random, and the passphrase of keychain \"\(sealed.name)\" seals it; "
                + "nothing was changed.",
            remedies: ["Keyfob enters this PIN itself, and the passphrase protects it."],
            details: ["token": info.label, "keychain": sealed.name])
    }

    // MARK: Errors

    /// Checks that a wrong SO PIN does not block the SO PIN, unless the caller allows that.
    private func requireSecurityOfficerTries(_ info: TokenInfo) throws(KeychainError) {
        guard !options.allowsFinalTry else { return }
        if info.flags.contains(.securityOfficerPINLocked) { throw Self.blocked(info, cause: nil) }
        guard info.flags.contains(.securityOfficerPINFinalTry) else { return }
        throw KeychainError(
            .pinFinalTry, "the SO PIN of token \"\(info.label)\" has ONE try left before it blocks; it was not sent.",
            remedies: ["Stop unless you are sure.", Remedy("To try", .change(.finalTry))],
            details: ["token": info.label, "tries": "final"])
    }

    private static func blocked(_ info: TokenInfo, cause: PKCS11Error?) -> KeychainError {
        KeychainError(
            .pinLocked, "the SO PIN (PUK) of token \"\(info.label)\" is blocked.",
            remedies: [
                "Keys on it are intact, and the user PIN is not concerned.",
                "Some tokens allow tries again after a time; of others, only the maker's tool resets it.",
            ],
            details: ["token": info.label], cause: cause)
    }

    /// The error about the administration for an error of the token.
    private func failure(_ error: PKCS11Error, _ operation: TokenOperation, _ info: TokenInfo) -> KeychainError {
        let details = ["token": info.label, "ckr": error.returnValue.name, "function": error.function.rawValue]
        func make(_ code: KeychainError.Code, _ message: String, _ remedies: [Remedy]) -> KeychainError {
            KeychainError(code, message, remedies: remedies, details: details, cause: error)
        }
        let isAboutNewPIN = error.function == .initializePIN || error.function == .setPIN
            || error.function == .initializeToken && !info.flags.contains(.tokenInitialized)
        switch error.returnValue {
        case .pinInvalid where isAboutNewPIN,
            .pinLengthRange where isAboutNewPIN:
            return Self.unacceptable(info, details: details, cause: error)
        case .pinIncorrect where error.function != .setPIN,
            .pinInvalid, .pinLengthRange:
            // The flags only add to the message.
            let flags = (try? slot.tokenInfo().flags) ?? []
            if flags.contains(.securityOfficerPINLocked) { return Self.blocked(info, cause: error) }
            let isLow = !flags.isDisjoint(with: [.securityOfficerPINCountLow, .securityOfficerPINFinalTry])
            return make(
                .pinIncorrect,
                "wrong SO PIN for token \"\(info.label)\"" + (isLow ? "; few tries are left before it blocks." : "."),
                [Remedy("Check its source before trying again", .change(.securityOfficerPINSource))])
        case .pinLocked: return Self.blocked(info, cause: error)
        case .sessionExists, .userAlreadyLoggedIn, .userAnotherAlreadyLoggedIn, .sessionReadOnlyExists:
            return make(
                .timedOut, "another program uses token \"\(info.label)\"; nothing was changed.",
                ["Try again when that program has ended."])
        case .functionNotSupported, .userTypeInvalid,
            .argumentsBad where error.function == .initializeToken,
            .generalError where error.function == .login,
            .functionFailed where error.function == .login:
            return make(
                .mechanismUnsupported,
                "token \"\(info.label)\" cannot \(operation.verb) through PKCS#11 (\(error.returnValue.name) from "
                    + "\(error.function.rawValue)); nothing was changed.",
                ["Use the tool of its maker, such as ykman, pkcs15-tool, tpm2_ptool, pkcsconf or certutil."])
        default: return KeychainError.token(error, operation, token: info.label, serial: info.serialNumber)
        }
    }
}
