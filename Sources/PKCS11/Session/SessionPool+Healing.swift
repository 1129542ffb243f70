import Glibc
import KeyfobPrimitives
import Synchronization

/// Logging in, and getting over what tokens do.
extension SessionPool {
    /// Sees to it that the pool's state is of the module's generation and that the token is logged in.
    func prepare(_ state: Lock<State>, _ deadline: Deadline, _ climb: inout Climb) throws {
        if module.isForked { try module.reinitialize() }
        while true {
            let generation = module.generation
            let mayLogIn = climb.mayLogIn()
            let (next, stale, boxes) = state.withLock { state in
                let (stale, boxes) = state.adopt(generation)
                return (state.takeStep(mayLogIn: mayLogIn), stale, boxes)
            }
            for box in boxes { box.deliver(.open) }
            // Released behind the lock, for with them sessions are closed.
            withExtendedLifetime(stale) {}
            switch next {
            case .go:
                return
            case .fail(let error):
                throw Refusal(error: error)
            case .lost:
                throw Refusal(
                    error: climb.loginFailure
                        ?? PKCS11Error(
                            function: .login, returnValue: .userNotLoggedIn, detail: "the login was lost once more"))
            case .logIn:
                try logIn(state, deadline, &climb)
                return
            case .wait(let attempt):
                try waitForLogin(attempt, state, deadline, &climb)
            }
        }
    }

    private func waitForLogin(
        _ attempt: Int, _ state: Lock<State>, _ deadline: Deadline, _ climb: inout Climb
    ) throws {
        let outcome = state.wait(until: deadline) { state -> (any Error)?? in
            if state.attempt == attempt, case .inProgress = state.login { return nil }
            // Who waited shares the outcome: eight threads must not ask eight times for a PIN.
            return .some(state.attempt == attempt ? state.failure : nil)
        }
        guard let outcome else {
            throw Refusal(error: PKCS11Error(
                function: .login, returnValue: .sessionCount, detail: "a login took longer than the deadline"))
        }
        guard let error = outcome else { return }
        // The try of one is the try of all who waited for it.
        if let failure = error as? PKCS11Error, failure.function == .login {
            climb.loginFailure = failure
            if !Self.withoutVerdict.contains(failure.returnValue) { climb.ladder.takeLogin() }
        }
        throw error
    }

    /// Logs in, which only one thread at a time gets to; no lock is held meanwhile.
    private func logIn(_ state: Lock<State>, _ deadline: Deadline, _ climb: inout Climb) throws {
        do {
            let place = try slot(state, until: deadline)
            let anchor = try anchor(in: place, state, deadline)
            let provesPIN = state.withLock { $0.provesPIN }
            let isUser = try logIn(anchor, place.slot, provesPIN: provesPIN, deadline, &climb)
            logins.add(1, ordering: .relaxed)
            let former = state.withLock { state -> PooledSession? in
                // Closed meanwhile: nothing may stay open, and the login goes with this session.
                if state.machine.isClosed {
                    state.login = .needed
                    return anchor
                }
                let former = state.anchor
                state.anchor = anchor
                state.login = .ready
                state.provesPIN = false
                state.expectsUser = isUser
                return former
            }
            state.broadcast()
            // Only now may the former one close: the last session to close would take the login with it.
            withExtendedLifetime(former) {}
        } catch {
            state.withLock { state in
                state.failure = error
                let refusal = error as? PKCS11Error
                // Sent a second time, a wrong PIN would bring the lock nearer without a chance to open.
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

    /// A session to log in on: a new one, for the one of the last login may be dead.
    private func anchor(
        in place: Place, _ state: Lock<State>, _ deadline: Deadline
    ) throws(PKCS11Error) -> PooledSession {
        do throws(PKCS11Error) {
            return try place.openSession(until: deadline)
        } catch {
            guard error.isWantOfSessions else { throw error }
            // The pool itself may be what fills the token.
            if let former = state.withLock({ $0.anchor }), former.generation == place.generation,
                !former.session.isBroken
            {
                return former
            }
            discardIdle(state)
            return try place.openSession(until: deadline)
        }
    }

    /// Whether the user is logged in afterwards.
    private func logIn(
        _ anchor: PooledSession, _ slot: Slot, provesPIN: Bool, _ deadline: Deadline, _ climb: inout Climb
    ) throws -> Bool {
        let isLoggedIn = try anchor.session.info().isUserLoggedIn
        if isLoggedIn, !provesPIN { return true }
        let flags = try slot.tokenInfo(until: deadline).flags
        // The one before may have been a wrong PIN, whatever it was answered.
        if let failure = climb.loginFailure, !flags.isDisjoint(with: Self.countedTries) {
            throw Refusal(error: failure)
        }
        guard try wantsLogin(flags) else { return false }
        let isTyped = configuration.usesProtectedAuthenticationPath && flags.contains(.protectedAuthenticationPath)
        let secret = isTyped ? nil : try askForPIN()
        guard isTyped || secret != nil else { return false }
        func send() throws -> Bool {
            // Only now: a PIN that is not sent must not end a login that is in force.
            if isLoggedIn { try anchor.session.logout() }
            return try self.send(secret, anchor, &climb)
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
            // Not remembered: the flags are looked at anew each time, and cost no try. Nor is it C_Login that
            // refused: a PIN that was not sent must not be taken for a wrong one.
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
        _ secret: SecretBytes?, _ anchor: PooledSession, _ climb: inout Climb
    ) throws(PKCS11Error) -> Bool {
        climb.ladder.takeLogin()
        let watched = watchdog?.begin(PKCS11Function.login.rawValue)
        defer { if let watched { watchdog?.end(watched) } }
        do throws(PKCS11Error) {
            try anchor.session.login(pin: secret)
        } catch {
            guard error.returnValue != .userAlreadyLoggedIn else {
                climb.loginFailure = nil
                return false
            }
            if climb.loginFailure == nil, Self.withoutVerdict.contains(error.returnValue) {
                climb.ladder.giveBackLogin()
            }
            climb.loginFailure = error
            throw error
        }
        climb.loginFailure = nil
        return true
    }

    static let closed = PKCS11Error(
        function: .openSession, returnValue: .sessionClosed, detail: "the pool is closed")

    /// What ends a login before the token has looked at the PIN. A failure in general, or of the device, may come after
    /// that, and the try may have been counted.
    private static let withoutVerdict: Set<ReturnValue> = [
        .tokenNotPresent, .slotIDInvalid, .sessionClosed, .sessionHandleInvalid, .cryptokiNotInitialized,
    ]

    /// What a token says of itself after a wrong PIN.
    private static let countedTries: TokenFlags = [.userPINCountLow, .userPINFinalTry, .userPINLocked]

    /// Looks, after a failure that a lost login may have caused, whether that is so.
    func noteFailure(_ failure: any Error, _ pooled: PooledSession, _ state: Lock<State>) {
        guard let error = failure as? PKCS11Error, !pooled.session.isBroken else { return }
        guard error.recovery == .logInAgain || error.recovery == .lookUpAgain else { return }
        guard state.withLock({ $0.expectsUser }) else { return }
        do throws(PKCS11Error) {
            if try !pooled.session.info().isUserLoggedIn { loseLogin(state) }
        } catch {
            // The session is broken by now, and the next one that is opened will tell.
        }
    }

    /// Notes that somebody else logged the token out.
    func loseLogin(_ state: Lock<State>) {
        state.withLock { state in
            if case .ready = state.login { state.login = .needed }
            state.expectsUser = false
        }
        logins.add(1, ordering: .relaxed)
    }

    /// Does what may make an operation succeed that failed with `error`, or throws it.
    func heal(
        _ error: PKCS11Error, isIdempotent: Bool, generation: Int, _ state: Lock<State>, _ climb: inout Climb
    ) throws {
        let situation = Ladder.Situation(isIdempotent: isIdempotent, isLate: climb.isLate())
        var step = climb.ladder.step(after: error.returnValue, situation)
        if step == .probe {
            let deadline = climb.deadline ?? .after(configuration.deadline)
            step = climb.ladder.step(afterProbe: isHealthy(state, until: deadline))
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
            try module.reinitialize(ifStillIn: generation)
        }
    }

    /// Whether the token still works, by asking it for what any token can do; or, where it is not found, whether the
    /// module does.
    private func isHealthy(_ state: Lock<State>, until deadline: Deadline) -> Bool {
        do throws(PKCS11Error) {
            state.withLock { $0.place = nil }
            let place = try slot(state, until: deadline)
            let probe = try place.openSession(until: deadline)
            // tpm2 answers all else from its own files when the TPM is gone.
            if try place.slot.tokenInfo(until: deadline).flags.contains(.randomNumberGenerator) {
                _ = try probe.session.random(count: 1)
            }
            return true
        } catch {
            // Nor can a module be initialised anew of which a call does not return.
            if error.isWantOfTurn { return true }
            // One token that nobody can read, and which may not be ours, is no reason to end the sessions of all.
            return error.function == .getTokenInfo && module.hasReadableToken(until: deadline)
        }
    }
}
