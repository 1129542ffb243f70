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
    /// Receives one waiter's grant. Each waiter has its own, so that a returned session wakes only one thread.
    typealias Mailbox = Lock<Grant?>

    /// The grant for a waiter.
    enum Grant: Sendable {
        case use(PooledSession)
        case open
        case closed
    }

    /// The state of the pool's login.
    enum Login: Sendable {
        case needed
        case inProgress
        /// Done, or not required.
        case ready
        /// The token refused the PIN, which is not sent again.
        case refused(PKCS11Error)
    }

    /// The step that a call takes for the login before it uses a session.
    enum LoginStep: Sendable {
        /// Continue: the login is done.
        case go
        case logIn
        /// Wait for this attempt of another thread.
        case wait(Int)
        /// Give up: the login was lost too often.
        case lost
        case fail(PKCS11Error)
    }

    /// The state that all threads share.
    struct State: Sendable {
        var machine: StateMachine<PooledSession>
        var generation: Int
        /// The token's label when it was last found.
        var label: String?
        var login = Login.needed
        /// Whether a new session is expected to be logged in from the start.
        var expectsUser = false
        /// Whether the next login sends the PIN even if the token is already logged in.
        var provesPIN = false
        /// Whether a thread is sending the PIN for one use of a key.
        var isAuthenticating = false
        /// The number of logins tried, and the error of the last one, for the threads that waited for it.
        var attempt = 0
        /// The number of logins that succeeded.
        var successes = 0
        var failure: (any Error)?
        /// Keeps the login alive while all other sessions are closed.
        var anchor: PooledSession?
        var place: Place?
        var hasFoundToken = false
        var mailboxes: [Int: Mailbox] = [:]

        init(limit: Int, generation: Int) {
            machine = StateMachine(limit: limit)
            self.generation = generation
        }

        /// Takes an idle session if the pool is logged in and in this generation.
        mutating func takeReady(_ generation: Int) -> PooledSession? {
            guard case .ready = login, self.generation == generation else { return nil }
            return machine.takeIdle()
        }

        /// Starts over in another generation of the module, in which all earlier sessions are invalid.
        ///
        /// - Returns: Sessions to be released, and waiters that may open others, both outside the lock.
        mutating func adopt(_ generation: Int) -> (stale: [PooledSession], openers: [Mailbox]) {
            guard !machine.isClosed, self.generation != generation else { return ([], []) }
            let (leases, openers) = machine.discardIdle()
            let stale = leases + [forgetLogin()].compactMap { $0 }
            self.generation = generation
            place = nil
            return (stale, openers.compactMap { mailboxes.removeValue(forKey: $0) })
        }

        /// Returns the step that a call takes for the login. After `.logIn`, no other call logs in until this one is
        /// done.
        ///
        /// - Parameter mayLogIn: Whether this call is still allowed to log in.
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

        /// Forgets the login and returns the session that kept it, to be released outside the lock.
        mutating func forgetLogin() -> PooledSession? {
            defer { anchor = nil }
            if case .ready = login { login = .needed }
            expectsUser = false
            return anchor
        }
    }

    /// The token's slot in a generation of the module.
    struct Place: Sendable {
        let slot: Slot
        let isWriteProtected: Bool
        let generation: Int

        func openSession(until deadline: Deadline) throws(PKCS11Error) -> PooledSession {
            PooledSession(
                try slot.openSession(readWrite: !isWriteProtected, until: deadline), generation: generation)
        }
    }

    /// An error after which the operation is not repeated, whatever its recovery.
    struct Refusal: Error {
        let error: any Error
    }

    /// The progress of one call's recovery.
    struct RecoveryAttempt {
        let deadline: Deadline?
        var policy = RecoveryPolicy()
        /// The error of this call's login, if it failed.
        var loginFailure: PKCS11Error?
        /// Two seconds after the first failure; `nil` before.
        private(set) var end: Deadline?
        /// The number of logins of the pool that had succeeded when this call failed last.
        private var successes: Int?
        private var preparations = 0

        init(deadline: Deadline?) {
            self.deadline = deadline
        }

        /// Whether this call may log in: once with a PIN. Without a PIN a few times, since other code may log the token
        /// in and out all the time, and the call must end.
        mutating func mayLogIn() -> Bool {
            preparations += 1
            return policy.mayLogIn && preparations <= 16
        }

        /// Whether another login has succeeded since this call failed last.
        ///
        /// - Parameter count: The number of logins of the pool that have succeeded.
        mutating func hasLoginSince(_ count: Int) -> Bool {
            defer { successes = count }
            return successes.map { $0 != count } ?? false
        }

        /// Whether two seconds have passed since the first failure, or the caller's deadline has passed.
        mutating func isLate() -> Bool {
            let end = self.end ?? .after(.seconds(2))
            self.end = end
            return end.hasPassed || deadline?.hasPassed == true
        }
    }
}

extension Lock where Value == SessionPool.Grant? {
    /// Stores a grant and wakes its receiver.
    func deliver(_ grant: SessionPool.Grant) {
        withLock { $0 = grant }
        broadcast()
    }
}
