import Foundation
public import KeyfobPrimitives
import Logging
import PKCS11

/// Locking and unlocking.
extension Keychain {
    /// Whether secrets can be read now without asking anybody.
    ///
    /// Looks for unlocked state of this process and of earlier commands; does not touch the token.
    public var isUnlocked: Bool {
        if lockState.withLock({ $0.keys != nil }) { return true }
        // State that cannot be read is no state.
        return ((try? restoreUnlockedState()) ?? nil) != nil
    }

    /// Unlocks the keychain for this process.
    ///
    /// Takes the PIN or passphrase from the first source that has one: options, configuration, systemd
    /// credential, person. Nothing is asked, and nothing is sent to the token, where it is unlocked already.
    ///
    /// - Throws: `KeychainError`; `pinRequired` where there is nobody to ask, `pinIncorrect`,
    ///   `passphraseIncorrect`, `pinLocked`, `pinFinalTry`, `pinRemembered`, `tokenAbsent`,
    ///   `wrappingKeyMissing`.
    @available(*, noasync, message: "use the asynchronous form")
    public func unlock() throws {
        _ = try keys()
    }

    /// Unlocks the keychain with a passphrase or PIN that the caller has.
    ///
    /// - Throws: As `unlock()`, without `pinRequired`.
    @available(*, noasync, message: "use the asynchronous form")
    public func unlock(with secret: SecretBytes, isRecoveryCode: Bool = false) throws {
        let pin = try pin(from: secret, isRecoveryCode: isRecoveryCode)
        _ = try logIn(pin: pin)
    }

    /// Unlocks the keychain and leaves the state for other processes of this user, until it times out.
    ///
    /// - Parameters:
    ///   - timeout: Seconds until it locks itself; 0 never, `nil` as the keychain is configured.
    ///   - secret: The passphrase or PIN; `nil` takes it from the first source that has one.
    ///   - isRecoveryCode: Whether `secret` is the text of the keychain's recovery code.
    /// - Returns: Where the state lies.
    /// - Throws: As `unlock()`; `invalidArgument` for a timeout below zero or of more than ten years.
    @available(*, noasync, message: "use the asynchronous form")
    public func unlockForSession(
        timeout: Int? = nil, with secret: SecretBytes? = nil, isRecoveryCode: Bool = false
    ) throws -> UnlockedState.Location {
        // Before a PIN is asked for, or sent.
        if let timeout { try UnlockedState.check(timeout) }
        if let secret {
            try unlock(with: secret, isRecoveryCode: isRecoveryCode)
        } else {
            try unlockAnew(isUnlocked: isUnlockedForSession)
        }
        let keys = try keys()
        guard let pin = lockState.withLock({ $0.pin }) else {
            throw KeychainError(.pinRequired, "keychain \"\(name)\" has no PIN to keep.")
        }
        return try leaveUnlocked(pin: pin, keys, timeout: timeout)
    }

    /// Locks the keychain: wipes its keys in this process and removes the state for others.
    ///
    /// - Throws: `KeychainError` where the token refuses to log out; the keys are wiped all the same.
    @available(*, noasync, message: "use the asynchronous form")
    public func lock() throws {
        wipeKeys()
        // Each of them, whatever becomes of the other.
        let removal = Result { _ = try unlockedState.remove(stateName) }
        // Until it was removed another thread may have taken the state over.
        wipeKeys()
        try token.logout()
        try removal.get()
    }

    private func wipeKeys() {
        lockState.withLock { state in
            state.keys = nil
            state.pin = nil
            state.wrappingKeys = []
            state.ownWrappingKeys = []
            state.lockings += 1
        }
        index.forget()
        pinEnvironment.forget()
    }
}

extension Keychain {
    /// The vault's keys, unlocking the keychain where that is needed and possible.
    ///
    func keys() throws -> VaultKeys {
        if let keys = lockState.withLock({ $0.keys }) { return keys }
        if let keys = try restoreUnlockedState() { return try finishInterruptedRemovals(keys) }
        return try unlockAnew()
    }

    /// As `keys()`, for whom it is enough that they are there.
    func unlockIfLocked() throws {
        guard lockState.withLock({ $0.keys == nil }) else { return }
        _ = try keys()
    }

    /// The vault's keys where they are to be had without asking anybody; `nil` where the keychain is locked.
    func keysIfUnlocked() throws -> VaultKeys? {
        if let keys = lockState.withLock({ $0.keys }) { return keys }
        if let keys = try restoreUnlockedState() { return try finishInterruptedRemovals(keys) }
        // A token that cannot be asked lets nobody in.
        let isOpen = try !pinSource().source.isInteractive || (try? wantsLogin()) == false
        guard !isOpen else { return try unlockAnew() }
        // What everybody may see of a token, it shows also to whom it has refused a PIN that is no more.
        if lockState.withLock({ $0.pin == nil }) { token.forgetRefusal() }
        return nil
    }

    /// - Parameter isUnlocked: Whether the keychain is open as it is: for what is said where nobody can be asked.
    @discardableResult
    private func unlockAnew(isUnlocked: Bool = false) throws -> VaultKeys {
        let source = try pinSource().source
        // Nobody is asked for a PIN that nobody checks.
        if source.isInteractive, try !wantsLogin() { return try logIn(pin: SecretBytes(utf8: "")) }
        let secret = try read(source, isUnlocked ? pinPurpose.anew(keychain: name) : pinPurpose)
        let stored = source.isInteractive ? nil : source
        let pin = try pin(from: secret, isRecoveryCode: false, stored: stored)
        let keys = try logIn(pin: pin, stored: stored)
        if options.isOneShot, case .file = source.kind, configuration.sealedPIN == nil {
            // A PIN in a file, which anybody with this user's rights can read, needs no login for every command; kept
            // in memory that ends with the machine's uptime, it protects as much as its file. Without it commands are
            // slower. What came from elsewhere was for this one command: only `unlock` keeps it.
            _ = try? leaveUnlocked(pin: pin, keys)
        }
        return keys
    }

    /// Logs in and unwraps the metadata key. A stored PIN that was refused once is not sent again.
    ///
    /// - Parameter stored: The source of the PIN, where it gives the same again.
    func logIn(pin: SecretBytes, stored: PINSource? = nil) throws -> VaultKeys {
        let unlocked = try stored == nil ? send(pin) : takingTurns { try send(pin, stored: stored) }
        return try finishInterruptedRemovals(unlocked)
    }

    /// Runs `body`, which sends a stored PIN, on one thread at a time, so that the next thread knows of a refusal.
    private func takingTurns<Result>(_ body: () throws -> Result) throws -> Result {
        let turn = lockState.wait(until: deadline) { state -> Bool? in
            guard !state.isSending else { return nil }
            state.isSending = true
            return true
        }
        guard turn != nil else {
            throw KeychainError(
                .timedOut, "another thread takes too long to unlock keychain \"\(name)\".", hint: "Try again.")
        }
        defer {
            lockState.withLock { $0.isSending = false }
            lockState.broadcast()
        }
        return try body()
    }

    /// - Parameter stored: As for `logIn(pin:stored:)`.
    private func send(_ pin: SecretBytes, stored: PINSource? = nil) throws -> VaultKeys {
        // Before all else: a PIN that is known to be wrong must not end a login that is in force.
        do { try token.requireUnrefused(TokenPIN(pin, storedIn: stored)) } catch let error as PKCS11Error {
            throw token.refusal(error, .login)
        }
        let (previous, source, isUnlocked, wasRestored, lockings) = lockState.withLock { state in
            defer {
                state.pin = pin
                state.pinSource = stored
                // What is sent now is not what an earlier unlocking left.
                state.isRestored = false
            }
            return (state.pin, state.pinSource, state.keys != nil, state.isRestored, state.lockings)
        }
        // A login that is begun from here on sends this one, whoever begins it.
        let attempts = token.loginAttempts
        do {
            // A token that is logged in asks for no PIN: another one than it was given would be believed unseen.
            if isUnlocked, previous.map({ $0 != pin }) ?? true { try token.logout() }
            if let previous, previous != pin {
                // A token that is logged in accepts any PIN: only a new login can tell.
                try token.logout()
            }
            try token.login(unlessRefusedSince: attempts)
            let keys = try unwrapMetadataKey()
            try token.didLogIn()
            let isLocked = lockState.withLock { state in
                if state.lockings == lockings { state.keys = keys }
                return state.keys == nil
            }
            // Locked by another thread meanwhile, which may have logged out before this one logged in.
            if isLocked { try token.logout() }
            return keys
        } catch {
            let isLocked = lockState.withLock { state in
                // Another thread has wiped the PIN since, or has set one that it is still to find out about.
                guard state.lockings == lockings else { return true }
                guard state.pin == pin else { return false }
                state.pin = previous
                state.pinSource = source
                state.isRestored = wasRestored
                return false
            }
            // What was refused was not the PIN that counts again.
            if previous.map({ $0 != pin }) ?? false { token.forgetRefusal() }
            if isLocked, (error as? KeychainError)?.code == .wrappingKeyMissing {
                // The PIN went with the locking, and without it nobody sees the key.
                throw KeychainError(
                    .locked, "keychain \"\(name)\" was locked while it was being unlocked.",
                    remedies: [Remedy("Unlock it again", .unlock(keychain: name))], cause: error)
            }
            throw error
        }
    }

    /// Unwraps the metadata key. One token operation.
    func unwrapMetadataKey() throws -> VaultKeys {
        let rows = try store.read { try $0.wrappingKeys() }
        guard let row = rows.last(where: \.isActive) ?? rows.last else {
            // A keychain on a token that cannot wrap has no passwords; keys and certificates it has.
            throw KeychainError(
                .wrappingKeyMissing, "keychain \"\(name)\" has no wrapping key.",
                hint: "Its token cannot wrap keys; passwords need another token.")
        }
        let metadataKey = try unwrap(row.encryptedMetadataKey, row)
        lockState.withLock { state in
            state.wrappingKeys = rows
            state.ownWrappingKeys.insert(row)
        }
        return try VaultKeys(metadataKey: metadataKey, vault: store.identity)
    }

    /// Takes note that the token has refused the PIN as it is now; one that an earlier unlocking left is not sent
    /// again.
    ///
    /// It was changed since, by another program. The next call asks the PIN's source, which may have the new one.
    func pinWasRefused() {
        // What was refused may be another one than somebody has left since.
        guard let stale = lockState.withLock({ $0.isRestored ? $0.pin : nil }), token.wasGiven(stale) else { return }
        pinWasRefused(stale)
    }

    /// Takes note that the token has refused this PIN, for whatever it was sent. It is not sent again, and the keychain
    /// is locked where it is the one that counts.
    func pinWasRefused(_ refused: SecretBytes) {
        let counts = lockState.withLock { state in
            guard state.pin == refused else { return false }
            state.keys = nil
            state.pin = nil
            state.isRestored = false
            return true
        }
        guard counts else { return }
        index.forget()
        // Somebody may have unlocked the keychain with the new one since. One that stays is met again, too.
        try? unlockedState.remove(stateName) { Self.decode($0.payload)?.pin == refused }
    }

    /// Finishes the removals that a killed process has left, at the first unlocking.
    private func finishInterruptedRemovals(_ keys: VaultKeys) throws -> VaultKeys {
        let isFirst = lockState.withLock { state in
            defer { state.hasRecovered = true }
            return !state.hasRecovered
        }
        guard isFirst else { return keys }
        // A process that is changing the token finishes them itself.
        do { try writer(keys).recover(until: .after(.zero)) } catch let error as KeychainError
            where error.code == .vaultBusy
        {} catch {
            // Readers are not shown the objects; the next change meets the error again, and reports it.
            options.logger.warning(
                "an interrupted removal could not be finished", metadata: ["keychain": "\(name)", "error": "\(error)"])
        }
        return keys
    }
}
