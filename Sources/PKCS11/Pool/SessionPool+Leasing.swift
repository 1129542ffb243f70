import Glibc
import KeyfobPrimitives
import Synchronization

/// Leasing and returning sessions.
extension SessionPool {
    /// Acquires a session with a login, by opening one or by waiting, and recovers from errors on the way.
    func acquire(_ state: Lock<State>, _ recovery: inout RecoveryAttempt) throws -> PooledSession {
        let deadline = recovery.deadline ?? .after(configuration.deadline)
        while true {
            let generation = module.generation
            do {
                if let pooled = try acquireOnce(state, deadline, &recovery) { return pooled }
            } catch let refusal as Refusal {
                throw refusal.error
            } catch let error as PKCS11Error {
                // The caller's operation has not run yet, so repeating is safe.
                try heal(error, isIdempotent: true, generation: generation, state, &recovery)
            }
        }
    }

    /// Tries once to acquire a session; returns `nil` if the state has changed and the request must be repeated.
    private func acquireOnce(
        _ state: Lock<State>, _ deadline: Deadline, _ recovery: inout RecoveryAttempt
    ) throws -> PooledSession? {
        try prepare(state, deadline, &recovery)
        let step = state.withLock { state -> (request: StateMachine<PooledSession>.Request, box: Mailbox?)? in
            if module.holdsOperations { return nil }
            let request = state.machine.request()
            guard case .wait(let number) = request else { return (request, nil) }
            let box = Mailbox(nil)
            state.mailboxes[number] = box
            return (request, box)
        }
        guard let (request, box) = step else {
            try module.awaitGate(.openSession, until: deadline)
            return nil
        }
        var outcome = request
        if case .wait(let number) = request, let box { outcome = try wait(number, box, state, deadline) }
        switch outcome {
        case .use(let pooled):
            if pooled.generation == module.generation { return pooled }
            release(pooled, state)
            return nil
        case .open:
            return try open(state, deadline)
        case .closed, .wait:
            throw Refusal(error: Self.closed)
        }
    }

    private func wait(
        _ number: Int, _ box: Mailbox, _ state: Lock<State>, _ deadline: Deadline
    ) throws -> StateMachine<PooledSession>.Request {
        let isReturning = ThreadTurn.isReturning
        var grant: Grant?
        while grant == nil, !deadline.hasPassed {
            let (request, place, limit) = state.withLock { state -> (StateMachine<PooledSession>.Request?, Int, Int) in
                let request = state.machine.retry(number)
                if request != nil { state.mailboxes[number] = nil }
                return (request, state.machine.place(of: number) ?? 0, state.machine.limit)
            }
            if let request {
                ThreadTurn.begin(isReturning)
                return request
            }
            // About the time at which a session is due to this waiter if all threads use their turns.
            let pause = ThreadTurn.length * (place / limit + 1)
            let isShort = deadline.remaining.map { $0 < pause } ?? false
            grant = box.wait(until: isShort ? deadline : .after(pause)) { $0 }
        }
        if grant == nil {
            let isAbandoned = state.withLock { state in
                guard state.machine.abandon(number) else { return false }
                state.mailboxes[number] = nil
                return true
            }
            if isAbandoned {
                throw Refusal(error: PKCS11Error(
                    function: .openSession, returnValue: .sessionCount, detail: "no session became free in time"))
            }
            // The request was served at the last moment, so a grant is about to be delivered.
            grant = box.wait(until: .never) { $0 }
        }
        ThreadTurn.begin(isReturning)
        switch grant {
        case .use(let pooled): return .use(pooled)
        case .open: return .open
        case .closed, nil: return .closed
        }
    }

    /// Opens a session within the pool's limit; returns `nil` if the token has less room than expected or has lost the
    /// login.
    private func open(_ state: Lock<State>, _ deadline: Deadline) throws(PKCS11Error) -> PooledSession? {
        do throws(PKCS11Error) {
            let pooled = try slot(state, until: deadline).openSession(until: deadline)
            let (expectsUser, epoch) = state.withLock { ($0.expectsUser, logins.load(ordering: .relaxed)) }
            if expectsUser, try !pooled.session.info().isUserLoggedIn {
                loseLogin(state, since: epoch)
                _ = giveUpOpening(state, isFull: false)
                return nil
            }
            return pooled
        } catch {
            let isFull = error.isSessionLimit
            if giveUpOpening(state, isFull: isFull) && isFull { return nil }
            throw error
        }
    }

    /// Gives up opening a session; returns whether other sessions are open.
    private func giveUpOpening(_ state: Lock<State>, isFull: Bool) -> Bool {
        let (box, hasOthers) = state.withLock { state -> (Mailbox?, Bool) in
            let number = state.machine.openFailed(isFull: isFull)
            return (number.flatMap { state.mailboxes.removeValue(forKey: $0) }, state.machine.sessionCount > 0)
        }
        box?.deliver(.open)
        return hasOthers
    }

    /// Returns a session to the pool. A session that is broken, or of an earlier generation, is closed.
    func release(_ pooled: PooledSession, _ state: Lock<State>) {
        let isUsable = !pooled.session.isBroken && pooled.generation == module.generation
        let (action, box) = state.withLock { state -> (StateMachine<PooledSession>.Release, Mailbox?) in
            let isContended = state.machine.waiterCount > 0
            if isContended { ThreadTurn.noteReturn() }
            let action = state.machine.release(
                pooled, isUsable: isUsable, keepsTurn: isContended && ThreadTurn.lasts)
            switch action {
            case .handOver(let number, _), .discardAndLetOpen(_, let number):
                return (action, state.mailboxes.removeValue(forKey: number))
            case .nothing, .discard:
                return (action, nil)
            }
        }
        switch action {
        case .handOver(_, let pooled): box?.deliver(.use(pooled))
        case .discardAndLetOpen: box?.deliver(.open)
        case .nothing, .discard: break
        }
    }

    /// Closes all idle sessions, because an error that one of them saw is likely to affect all.
    func discardIdle(_ state: Lock<State>) {
        let (leases, boxes) = state.withLock { state in
            let (leases, openers) = state.machine.discardIdle()
            state.place = nil
            return (leases, openers.compactMap { state.mailboxes.removeValue(forKey: $0) })
        }
        for box in boxes { box.deliver(.open) }
        withExtendedLifetime(leases) {}
    }

    /// Returns where the token is, looking it up if that is not known.
    ///
    /// - Parameter deadline: Until when to wait for other calls of the module; see `Module.callForSlots`.
    func slot(_ state: Lock<State>, until deadline: Deadline) throws(PKCS11Error) -> Place {
        let generation = module.generation
        if let place = state.withLock({ $0.place }), place.generation == generation { return place }
        guard let (slot, info) = try find(token, until: deadline) else {
            throw PKCS11Error(function: .getSlotList, returnValue: .tokenNotPresent, detail: token.description)
        }
        let place = Place(slot: slot, isWriteProtected: info.flags.contains(.writeProtected), generation: generation)
        state.withLock { ($0.place, $0.label, $0.hasFoundToken) = (place, info.label, true) }
        return place
    }

    private func find(
        _ token: PKCS11URI, until deadline: Deadline
    ) throws(PKCS11Error) -> (slot: Slot, info: TokenInfo)? {
        try configuration.followsSerialNumber
            ? module.token(followingSerialOf: token, until: deadline) : module.token(matching: token, until: deadline)
    }

    /// The token's label when it was last found; `nil` before that.
    package var foundLabel: String? { state.withLock { $0.label } }
}
