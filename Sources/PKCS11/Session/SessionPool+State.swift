import KeyfobPrimitives

/// A session of a pool, and the generation of the module in which it was opened.
final class PooledSession: Sendable {
    let session: Session
    let generation: Int

    init(_ session: consuming Session, generation: Int) {
        self.session = session
        self.generation = generation
    }
}

extension SessionPool {
    /// Where one waiter is told what it gets; its own, so that a session that comes free wakes one thread only.
    typealias Mailbox = Lock<Grant?>

    /// What a waiter gets.
    enum Grant: Sendable {
        case use(PooledSession)
        case open
        case closed
    }

    /// How things stand with the login.
    enum Login: Sendable {
        case needed
        case inProgress
        /// Done, or not wanted.
        case ready
        /// The token refused the PIN, and is not asked again with it.
        case refused(PKCS11Error)
    }

    /// What a call does about the login before it uses a session.
    enum LoginStep: Sendable {
        /// Nothing: it is done.
        case go
        case logIn
        /// Wait for this attempt of another thread.
        case wait(Int)
        /// Give up: it was lost too often.
        case lost
        case fail(PKCS11Error)
    }

    /// What all threads share.
    struct State: Sendable {
        var machine: StateMachine<PooledSession>
        var generation: Int
        var login = Login.needed
        /// Whether a new session ought to be logged in from the start.
        var expectsUser = false
        /// Whether the next login sends the PIN also where somebody is logged in.
        var provesPIN = false
        /// Whether a thread sends the PIN for one use of a key.
        var isAuthenticating = false
        /// Counts the logins tried, and holds why the last failed, for those who waited for it.
        var attempt = 0
        var failure: (any Error)?
        /// Keeps the login alive while all others are closed.
        var anchor: PooledSession?
        var place: Place?
        var mailboxes: [Int: Mailbox] = [:]

        init(limit: Int, generation: Int) {
            machine = StateMachine(limit: limit)
            self.generation = generation
        }

        /// An idle session, if nothing stands in the way of using it.
        mutating func takeReady(_ generation: Int) -> PooledSession? {
            guard case .ready = login, self.generation == generation else { return nil }
            return machine.takeIdle()
        }

        /// Begins anew in another generation of the module, in which no session of before is any good.
        ///
        /// - Returns: What is to be done outside the lock: sessions to be released, and who may open others instead.
        mutating func adopt(_ generation: Int) -> (stale: [PooledSession], openers: [Mailbox]) {
            guard !machine.isClosed, self.generation != generation else { return ([], []) }
            let (leases, openers) = machine.discardIdle()
            let stale = leases + [forgetLogin()].compactMap { $0 }
            self.generation = generation
            place = nil
            return (stale, openers.compactMap { mailboxes.removeValue(forKey: $0) })
        }

        /// What one call does about the login; where that is to log in, nobody else does from here on.
        ///
        /// - Parameter mayLogIn: Whether this call still may.
        mutating func takeStep(mayLogIn: Bool) -> LoginStep {
            if machine.isClosed { return .fail(SessionPool.closed) }
            switch login {
            case .ready: return .go
            case .inProgress: return .wait(attempt)
            case .refused(let error): return .fail(error)
            case .needed:
                guard mayLogIn else { return .lost }
                login = .inProgress
                attempt += 1
                failure = nil
                return .logIn
            }
        }

        /// Returns the session that kept the login, to be released outside the lock.
        mutating func forgetLogin() -> PooledSession? {
            defer { anchor = nil }
            if case .ready = login { login = .needed }
            expectsUser = false
            return anchor
        }
    }

    /// Where the token is now.
    struct Place: Sendable {
        let slot: Slot
        let isWriteProtected: Bool
        let generation: Int

        func openSession(until deadline: Deadline) throws(PKCS11Error) -> PooledSession {
            PooledSession(
                try slot.openSession(readWrite: !isWriteProtected, until: deadline), generation: generation)
        }
    }

    /// An error that no repetition helps against, whatever its class.
    struct Refusal: Error {
        let error: any Error
    }

    /// How far one call has come in healing.
    struct Climb {
        let deadline: Deadline?
        var ladder = Ladder()
        /// How this call's login ended, where it failed.
        var loginFailure: PKCS11Error?
        private var end: Deadline?
        private var preparations = 0

        init(deadline: Deadline?) {
            self.deadline = deadline
        }

        /// Whether this call may see to the login: with a PIN once, and without a few times, since a token that is
        /// logged in and out all the time by others must not keep a call for ever.
        mutating func mayLogIn() -> Bool {
            preparations += 1
            return ladder.mayLogIn && preparations <= 16
        }

        /// Whether two seconds are over since the first failure, or the caller's deadline is.
        mutating func isLate() -> Bool {
            let end = self.end ?? .after(.seconds(2))
            self.end = end
            return end.hasPassed || deadline?.hasPassed == true
        }
    }
}

extension Lock where Value == SessionPool.Grant? {
    /// Puts a grant in and wakes its receiver.
    func deliver(_ grant: SessionPool.Grant) {
        withLock { $0 = grant }
        broadcast()
    }
}
