import Glibc
import KeyfobPrimitives
import Synchronization

/// Logging in, and recovering from errors of the token.
extension SessionPool {
    /// Brings the pool's state to the module's generation and logs in to the token if necessary.
    func prepare(_ state: Lock<State>, _ deadline: Deadline, _ recovery: inout RecoveryAttempt) throws {
        while true {
            let generation = module.generation
            let mayLogIn = recovery.mayLogIn()
            let (next, stale, boxes) = state.withLock { state in
                let (stale, boxes) = state.adopt(generation)
                return (state.takeStep(mayLogIn: mayLogIn), stale, boxes)
            }
            for box in boxes { box.deliver(.open) }
            // Release these outside the lock, because that closes sessions.
            withExtendedLifetime(stale) {}
            switch next {
            case .go:
                return
            case .fail(let error):
                throw Refusal(error: error)
            case .lost:
                throw Refusal(
                    error: recovery.loginFailure
                        ?? PKCS11Error(
                            function: .login, returnValue: .userNotLoggedIn, detail: "the login was lost once more"))
            case .logIn:
                try logIn(state, deadline, &recovery)
                return
            case .wait(let attempt):
                try waitForLogin(attempt, state, deadline, &recovery)
            }
        }
    }

    private func waitForLogin(
        _ attempt: Int, _ state: Lock<State>, _ deadline: Deadline, _ recovery: inout RecoveryAttempt
    ) throws {
        let outcome = state.wait(until: deadline) { state -> (any Error)?? in
            if state.attempt == attempt, case .inProgress = state.login { return nil }
            // All waiting threads share the outcome: eight threads must not ask for a PIN eight times.
            return .some(state.attempt == attempt ? state.failure : nil)
        }
        guard let outcome else {
            throw Refusal(error: PKCS11Error(
                function: .login, returnValue: .sessionCount, detail: "a login took longer than the deadline"))
        }
        guard let error = outcome else { return }
        // The attempt of one thread counts for all that waited for it.
        if let failure = error as? PKCS11Error, failure.function == .login {
            recovery.loginFailure = failure
            if !Self.beforePINCheck.contains(failure.returnValue) { recovery.policy.takeLogin() }
        }
        throw error
    }

    /// Logs in. Only one thread at a time gets here; no lock is held during the login.
    private func logIn(_ state: Lock<State>, _ deadline: Deadline, _ recovery: inout RecoveryAttempt) throws {
        do {
            let place = try slot(state, until: deadline)
            let anchor = try anchor(in: place, state, deadline)
            let provesPIN = state.withLock { $0.provesPIN }
            let isUser = try logIn(anchor, place.slot, provesPIN: provesPIN, deadline, &recovery)
            let former = state.withLock { state -> PooledSession? in
                logins.add(1, ordering: .relaxed)
                // The pool was closed in the meantime: no session may stay open, and the login ends with this one.
                if state.machine.isClosed {
                    state.login = .needed
                    return anchor
                }
                let former = state.anchor
                state.anchor = anchor
                state.login = .ready
                state.successes += 1
                state.provesPIN = false
                state.expectsUser = isUser
                return former
            }
            state.broadcast()
            // Release the former anchor only now: closing the last session would end the login.
            withExtendedLifetime(former) {}
        } catch {
            state.withLock { state in
                state.failure = error
                let refusal = error as? PKCS11Error
                // Sending a wrong PIN again would use up another try without a chance of success.
                if let refusal, refusal.isRefusalOfPIN {
                    state.login = .refused(refusal)
                    state.provesPIN = false
                } else {
                    state.login = .needed
                }
                state.place = nil
            }
            state.broadcast()
            throw error
        }
    }

    /// Opens a session to log in on. It is a new one, because that of the last login may be invalid.
    private func anchor(
        in place: Place, _ state: Lock<State>, _ deadline: Deadline
    ) throws(PKCS11Error) -> PooledSession {
        do throws(PKCS11Error) {
            return try place.openSession(until: deadline)
        } catch {
            guard error.isSessionLimit else { throw error }
            // The pool's own sessions may be what fills the token.
            if let former = state.withLock({ $0.anchor }), former.generation == place.generation,
                !former.session.isBroken
            {
                return former
            }
            discardIdle(state)
            return try place.openSession(until: deadline)
        }
    }

    /// Logs in on `anchor`; returns whether the user is logged in afterwards.
    private func logIn(
        _ anchor: PooledSession, _ slot: Slot, provesPIN: Bool, _ deadline: Deadline, _ recovery: inout RecoveryAttempt
    ) throws -> Bool {
        let isLoggedIn = try anchor.session.info().isUserLoggedIn
        if isLoggedIn, !provesPIN { return true }
        let flags = try slot.tokenInfo(until: deadline).flags
        // The previous attempt may have sent a wrong PIN, whatever the token answered.
        if let failure = recovery.loginFailure, !flags.isDisjoint(with: Self.countedTries) {
            throw Refusal(error: failure)
        }
        guard try wantsLogin(flags) else { return false }
        let isTyped = configuration.usesProtectedAuthenticationPath && flags.contains(.protectedAuthenticationPath)
        let secret = isTyped ? nil : try askForPIN()
        guard isTyped || secret != nil else { return false }
        func send() throws -> Bool {
            // Log out only when the PIN is about to be sent. Otherwise other pools would lose a login that they may
            // not be able to repeat.
            if isLoggedIn { try anchor.session.logout() }
            return try self.send(secret, anchor, &recovery)
        }
        guard let secret else {
            _ = try send()
            return true
        }
        do {
            _ = try admission(secret) {
                // Another process may have used a try while this one waited for its turn.
                _ = try wantsLogin(slot.tokenInfo(until: deadline).flags)
                return try send()
            }
        } catch {
            guard error is PKCS11Error || error is Refusal else { throw Refusal(error: error) }
            throw error
        }
        return true
    }

    /// Whether a PIN is to be sent to a token that says this of itself.
    ///
    /// - Throws: `Refusal` where one more wrong PIN locks the token, or it is locked.
    private func wantsLogin(_ flags: TokenFlags) throws(Refusal) -> Bool {
        switch LoginDecision(flags: flags, allowFinalTry: configuration.allowFinalTry) {
        case .notNeeded: return false
        case .allowed: return true
        case .refused(let value, let detail):
            // This refusal is not stored, because reading the flags again costs no try. The function is not `C_Login`:
            // a PIN that was not sent must not be reported as wrong.
            throw Refusal(error: PKCS11Error(function: .getTokenInfo, returnValue: value, detail: detail))
        }
    }

    private func askForPIN() throws(Refusal) -> SecretBytes? {
        do {
            return try pin()
        } catch {
            throw Refusal(error: error)
        }
    }

    /// Whether the token has checked the PIN.
    private func send(
        _ secret: SecretBytes?, _ anchor: PooledSession, _ recovery: inout RecoveryAttempt
    ) throws(PKCS11Error) -> Bool {
        recovery.policy.takeLogin()
        let watched = watchdog?.begin(PKCS11Function.login.rawValue)
        defer { if let watched { watchdog?.end(watched) } }
        do throws(PKCS11Error) {
            try anchor.session.login(pin: secret)
        } catch {
            guard error.returnValue != .userAlreadyLoggedIn else {
                recovery.loginFailure = nil
                return false
            }
            // A device that is full of used keys fails before the check as well.
            let isFull = error.returnValue == .generalError && module.profile.has(.keepsUsedKeysLoaded)
            if recovery.loginFailure == nil, isFull || Self.beforePINCheck.contains(error.returnValue) {
                recovery.policy.giveBackLogin()
            }
            recovery.loginFailure = error
            throw error
        }
        recovery.loginFailure = nil
        return true
    }

    static let closed = PKCS11Error(
        function: .openSession, returnValue: .sessionClosed, detail: "the pool is closed")

    /// Errors that end a login before the token has checked the PIN. `generalError`, `functionFailed` and `deviceError`
    /// are not among them: they may come after the check, so the try may have been counted.
    private static let beforePINCheck: Set<ReturnValue> = [
        .tokenNotPresent, .slotIDInvalid, .sessionClosed, .sessionHandleInvalid, .cryptokiNotInitialized,
    ]

    /// The flags that a token sets after a wrong PIN.
    private static let countedTries: TokenFlags = [.userPINCountLow, .userPINFinalTry, .userPINLocked]

    /// After a failure that a lost login may have caused, checks whether the login is lost.
    ///
    /// - Parameter epoch: The number of logins when the operation got its session.
    func noteFailure(_ failure: any Error, _ pooled: PooledSession, _ state: Lock<State>, since epoch: Int) {
        guard let error = failure as? PKCS11Error, !pooled.session.isBroken else { return }
        guard error.recovery == .logInAgain || error.recovery == .lookUpAgain else { return }
        guard state.withLock({ $0.expectsUser }) else { return }
        do throws(PKCS11Error) {
            if try !pooled.session.info().isUserLoggedIn { loseLogin(state, since: epoch) }
        } catch {
            // The session is broken by now; opening the next one shows whether the login is lost.
        }
    }

    /// Records that the token was logged out by other code in the process, or has lost the login.
    ///
    /// Does nothing if another thread has noticed that since, and has perhaps logged in again.
    ///
    /// - Parameter epoch: The number of logins before the caller saw that the login is lost.
    func loseLogin(_ state: Lock<State>, since epoch: Int) {
        state.withLock { state in
            guard logins.load(ordering: .relaxed) == epoch else { return }
            if case .ready = state.login { state.login = .needed }
            state.expectsUser = false
            logins.add(1, ordering: .relaxed)
        }
    }

    /// Performs the recovery step for an operation that failed with `error`, or throws the error.
    func heal(
        _ error: PKCS11Error, isIdempotent: Bool, generation: Int, _ state: Lock<State>,
        _ recovery: inout RecoveryAttempt
    ) throws {
        let (hasFoundToken, successes) = state.withLock { ($0.hasFoundToken, $0.successes) }
        let situation = RecoveryPolicy.Situation(
            isIdempotent: isIdempotent, isLate: recovery.isLate(),
            keepsUsedKeysLoaded: module.profile.has(.keepsUsedKeysLoaded), hasFoundToken: hasFoundToken,
            hasLoginSince: recovery.hasLoginSince(successes))
        var step = recovery.policy.step(after: error.returnValue, situation)
        if step == .probe {
            let deadline = recovery.deadline ?? .after(configuration.deadline)
            // A module that lost its daemon may go on without tokens (p11-kit's remote).
            let isHealthy = error.returnValue == .tokenNotPresent
                ? module.hasReadableToken(until: deadline) : isHealthy(state, until: deadline)
            step = recovery.policy.step(afterProbe: isHealthy)
        }
        switch step {
        case .fail, .probe:
            throw error
        case .pause(let duration):
            usleep(UInt32(duration / .microseconds(1)))
        case .replaceSession:
            discardIdle(state)
        case .logInAgain:
            break
        case .reload:
            // A card that comes back needs no new initialisation, which would end the login of another thread.
            try module.reinitialize(ifStillIn: generation, until: recovery.end) {
                state.withLock { $0.successes } != successes
            }
        }
    }

    /// Whether the token still works, tested with calls that any token supports. If the token is not found, whether the
    /// module still works.
    private func isHealthy(_ state: Lock<State>, until deadline: Deadline) -> Bool {
        do throws(PKCS11Error) {
            state.withLock { $0.place = nil }
            let place = try slot(state, until: deadline)
            let probe = try place.openSession(until: deadline)
            // Without its TPM, tpm2 answers everything else from its own files.
            if try place.slot.tokenInfo(until: deadline).flags.contains(.randomNumberGenerator) {
                _ = try probe.session.random(count: 1)
            }
            return true
        } catch {
            // A module cannot be initialised again while one of its calls does not return.
            if error.isBusy { return true }
            // A single unreadable token, which may not be ours, does not justify ending the sessions of all tokens.
            return error.function == .getTokenInfo && module.hasReadableToken(until: deadline)
        }
    }
}
