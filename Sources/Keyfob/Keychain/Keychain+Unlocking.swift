import Foundation
public import KeyfobPrimitives
import Logging
import PKCS11

/// Locking and unlocking.
extension Keychain {
    /// Whether secrets can be read now without asking a person.
    ///
    /// Checks the unlocked state of this process and of earlier commands; does not use the token.
    public var isUnlocked: Bool {
        if lockState.withLock({ $0.keys != nil }) { return true }
        // State that cannot be read counts as absent.
        return ((try? restoreUnlockedState()) ?? nil) != nil
    }

    /// Unlocks the keychain for this process.
    ///
    /// Takes the PIN or passphrase from the first source that has one: options, configuration, systemd credential,
    /// person. If the keychain is unlocked already, no person is asked and the token gets no PIN.
    ///
    /// - Throws: `KeychainError`; `pinRequired` if no person can be asked, `pinIncorrect`, `passphraseIncorrect`,
    ///   `pinLocked`, `pinFinalTry`, `pinRemembered`, `tokenAbsent`, `wrappingKeyMissing`.
    @available(*, noasync, message: "use the asynchronous form")
    public func unlock() throws {
        try withDeadline { [self] in
            _ = try vaultKeys()
        }
    }

    /// Unlocks the keychain with a given passphrase or PIN.
    ///
    /// - Parameters:
    ///   - secret: The passphrase or PIN.
    ///   - isRecoveryCode: Whether `secret` is the text of the keychain's recovery code.
    /// - Throws: `KeychainError`; the errors of `unlock()` except `pinRequired`.
    @available(*, noasync, message: "use the asynchronous form")
    public func unlock(with secret: SecretBytes, isRecoveryCode: Bool = false) throws {
        try withDeadline { [self] in
            let pin = try pin(from: secret, isRecoveryCode: isRecoveryCode)
            _ = try logIn(pin: pin)
        }
    }

    /// Unlocks the keychain and stores the state for other processes of this user, until it times out.
    ///
    /// - Parameters:
    ///   - timeout: Seconds until the keychain locks itself; 0 for never, `nil` for the keychain's configured timeout.
    ///   - secret: The passphrase, PIN or recovery code; `nil` to take a passphrase or PIN from the first source that
    ///     has one, and a recovery code from ``Options/pinSource`` or a person.
    ///   - isRecoveryCode: Whether `secret` is the text of the keychain's recovery code.
    /// - Returns: The location of the state.
    /// - Throws: `KeychainError`; the errors of `unlock()`, and `invalidArgument` for a timeout below zero or of more
    ///   than ten years.
    @available(*, noasync, message: "use the asynchronous form")
    public func unlockForSession(
        timeout: Int? = nil, with secret: SecretBytes? = nil, isRecoveryCode: Bool = false
    ) throws -> UnlockedState.Location {
        try withDeadline { [self] in
            // Check before a PIN is asked for or sent.
            if let timeout { try UnlockedState.check(timeout) }
            if let secret {
                try unlock(with: secret, isRecoveryCode: isRecoveryCode)
            } else if isRecoveryCode {
                _ = try logIn(pin: pinFromRecoveryCode())
            } else {
                try unlockAnew(isUnlocked: isUnlockedForSession)
            }
            let keys = try vaultKeys()
            guard let pin = lockState.withLock({ $0.pin }) else {
                throw KeychainError(.pinRequired, "keychain \"\(name)\" has no PIN to keep.")
            }
            return try leaveUnlocked(pin: pin, keys, timeout: timeout)
        }
    }

    /// Locks the keychain: wipes its keys in this process and removes the state for other processes.
    ///
    /// - Throws: `KeychainError` if the token refuses to log out or the state cannot be removed; the keys are wiped
    ///   nevertheless.
    @available(*, noasync, message: "use the asynchronous form")
    public func lock() throws {
        try withDeadline { [self] in
            wipeKeys()
            // Log out even if the state cannot be removed, and report that afterwards.
            let removal = Result { _ = try unlockedState.remove(stateName) }
            // Another thread may have restored the state before it was removed.
            wipeKeys()
            try token.logout()
            try removal.get()
        }
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
    /// The vault's keys. Unlocks the keychain if necessary and possible.
    func vaultKeys() throws -> VaultKeys {
        if let keys = lockState.withLock({ $0.keys }) { return keys }
        if let keys = try restoreUnlockedState() { return try finishInterruptedRemovals(keys) }
        return try unlockAnew()
    }

    /// The vault's keys if they are available without asking a person; `nil` if the keychain is locked.
    func keysIfUnlocked() throws -> VaultKeys? {
        if let keys = lockState.withLock({ $0.keys }) { return keys }
        if let keys = try restoreUnlockedState() { return try finishInterruptedRemovals(keys) }
        // If the token cannot be asked, assume that it needs a login.
        let isOpen = try !pinSource().source.isInteractive || (try? wantsLogin()) == false
        guard !isOpen else { return try unlockAnew() }
        // Public objects need no login: an earlier refusal of a PIN that was dropped since must not hide them.
        if lockState.withLock({ $0.pin == nil }) { token.forgetRefusal() }
        return nil
    }

    /// - Parameter isUnlocked: Whether the keychain is unlocked already, for the error if no person can be asked.
    @discardableResult
    private func unlockAnew(isUnlocked: Bool = false) throws -> VaultKeys {
        let source = try pinSource().source
        // If the token needs no login, do not ask for a PIN.
        if source.isInteractive, try !wantsLogin() { return try logIn(pin: SecretBytes(utf8: "")) }
        let pin = try pin(readFrom: source, isUnlocked ? pinPurpose.anew(keychain: name) : pinPurpose)
        let keys = try logIn(pin: pin, stored: source.isInteractive ? nil : source)
        // Commands also work without the state, but are slower or ask again.
        if keepsUnlocked(after: source) { _ = try? leaveUnlocked(pin: pin, keys) }
        // If the file cannot be removed now, the next unlocking tries again.
        if configuration.sealedPIN != nil { try? removeLeftPINFile() }
        return keys
    }

    /// Whether a command that read the PIN or passphrase from a source leaves the keychain unlocked for the next ones.
    ///
    /// Any process of this user can read a PIN from a file, so keeping it in memory until the next boot protects it
    /// equally well and saves a login for every command. A person who enters a passphrase expects the same, unless the
    /// settings say otherwise. A secret from another source was given for one command.
    private func keepsUnlocked(after source: PINSource) -> Bool {
        guard options.isOneShot, hasVault else { return false }
        if case .file = source.kind { return configuration.sealedPIN == nil }
        return source.isInteractive && configuration.unlocksOnUse
    }

    /// Logs in and unwraps the metadata key. A stored PIN that was refused is not sent again.
    ///
    /// - Parameters:
    ///   - pin: The PIN.
    ///   - stored: The source of the PIN, if it gives the same PIN again.
    func logIn(pin: SecretBytes, stored: PINSource? = nil) throws -> VaultKeys {
        let unlocked = try stored == nil ? send(pin) : takingTurns { try send(pin, stored: stored) }
        return try finishInterruptedRemovals(unlocked)
    }

    /// Runs `body`, which sends a stored PIN, on one thread at a time, so that the next thread knows about a refusal.
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

    /// - Parameter stored: The source of the PIN, if it gives the same PIN again.
    private func send(_ pin: SecretBytes, stored: PINSource? = nil) throws -> VaultKeys {
        // Check first: a PIN that is known to be wrong must not end the current login.
        do { try token.requireUnrefused(TokenPIN(pin, storedIn: stored)) } catch let error as PKCS11Error {
            throw token.refusal(error, .login)
        }
        let (previous, source, isUnlocked, wasRestored, lockings) = lockState.withLock { state in
            defer {
                state.pin = pin
                state.pinSource = stored
                // This PIN was not left by an earlier unlock.
                state.isRestored = false
            }
            return (state.pin, state.pinSource, state.keys != nil, state.isRestored, state.lockings)
        }
        // From here on, any login on this process sends this PIN.
        let attempts = token.loginAttempts
        do {
            // A token that is logged in does not check a PIN, so log out to have a different PIN checked.
            if isUnlocked, previous.map({ $0 != pin }) ?? true { try token.logout() }
            if let previous, previous != pin {
                // A token that is logged in accepts any PIN; only a new login checks it.
                try token.logout()
            }
            try token.login(unlessRefusedSince: attempts)
            let keys = try unwrapMetadataKey()
            try token.didLogIn()
            recordLabel()
            let isLocked = lockState.withLock { state in
                if state.lockings == lockings { state.keys = keys }
                return state.keys == nil
            }
            // Another thread has locked the keychain in the meantime, and may have logged out before this login.
            if isLocked { try token.logout() }
            return keys
        } catch {
            let isLocked = lockState.withLock { state in
                // Another thread has wiped the PIN since, or has set another one that it has yet to check.
                guard state.lockings == lockings else { return true }
                guard state.pin == pin else { return false }
                state.pin = previous
                state.pinSource = source
                state.isRestored = wasRestored
                return false
            }
            // The refused PIN is not the one that is restored.
            if previous.map({ $0 != pin }) ?? false { token.forgetRefusal() }
            if isLocked, (error as? KeychainError)?.code == .wrappingKeyMissing {
                // Another thread wiped the PIN when it locked the keychain, and without a login the key is not visible.
                throw KeychainError(
                    .locked, "keychain \"\(name)\" was locked while it was being unlocked.",
                    remedies: [Remedy("Unlock it again", .unlock(keychain: name))], cause: error)
            }
            throw error
        }
    }

    /// Unwraps the metadata key with one token operation.
    func unwrapMetadataKey() throws -> VaultKeys {
        let all = try store.read { try $0.wrappingKeys() }
        guard configuration.takesPasswords else { return try bareMetadataKey(all) }
        // A row without a suite counts only if the configuration says so too.
        let rows = all.filter { $0.suite != KeychainConfiguration.noWrapSuite }
        guard let row = rows.last(where: \.isActive) ?? rows.last else {
            throw KeychainError(
                .wrappingKeyMissing, "keychain \"\(name)\" has no wrapping key.",
                hint: "Another program has changed the vault. Restore it from a backup.")
        }
        let keys = try VaultKeys(metadataKey: vaultRows.openMetadataKey(row), vault: store.identity)
        lockState.withLock { state in
            state.wrappingKeys = rows
            state.ownWrappingKeys.insert(row)
        }
        return keys
    }

    /// Records that the token has refused the current PIN. A PIN that an earlier unlock left is not sent again.
    ///
    /// Another program has changed the PIN since. The next call asks the PIN's source, which may have the new one.
    func pinWasRefused() {
        // The refused PIN may differ from one that another process has stored since.
        guard let stale = lockState.withLock({ $0.isRestored ? $0.pin : nil }), token.wasGiven(stale) else { return }
        pinWasRefused(stale)
    }

    /// Records that the token has refused this PIN, for any operation.
    ///
    /// It is not sent again, and the keychain is locked if it is the current PIN.
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
        // Another process may have unlocked the keychain with the new PIN since, so remove only the refused one. If
        // that fails, the next command meets the refused PIN again.
        try? unlockedState.remove(stateName) { Self.decode($0.payload)?.pin == refused }
    }

    /// Finishes the removals that a killed process has left, at the first unlock.
    private func finishInterruptedRemovals(_ keys: VaultKeys) throws -> VaultKeys {
        let isFirst = lockState.withLock { state in
            defer { state.hasRecovered = true }
            return !state.hasRecovered
        }
        guard isFirst else { return keys }
        // If a process is changing the token, it finishes the removals itself.
        do { try writer(keys).recover(until: .after(.zero)) } catch let error as KeychainError
            where error.code == .vaultBusy
        {} catch {
            // Readers do not see the objects; the next change meets the error again and reports it.
            options.logger.warning(
                "an interrupted removal could not be finished", metadata: ["keychain": "\(name)", "error": "\(error)"])
        }
        return keys
    }
}
