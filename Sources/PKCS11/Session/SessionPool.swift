import Glibc
public import KeyfobPrimitives
import Synchronization

/// A few sessions with one token, shared by many threads, that outlive what happens to sessions.
///
/// Login belongs to the token: the pool logs in once, keeps a session open for as long so that the login lasts, and
/// logs in again when the token has lost it. A session that saw an error of the session or the device is closed. An
/// operation that may run twice heals inside the call, within two seconds and with one login at most; a second only
/// where the first ended before the token had looked at the PIN.
///
/// All calls block the calling thread. They may be made from any thread, and in a forked child, where everything
/// begins anew and nothing of the parent's is touched.
@safe public final class SessionPool: Sendable {
    /// How a pool behaves.
    public struct Configuration: Sendable {
        /// How many sessions there may be; many more than there are cores make no token faster.
        public var maximumSessions: Int
        /// How long a call waits for a session before it gives up.
        public var deadline: Duration
        /// Called, once per operation and from a thread of the pool, when one has lasted for half a second: a card
        /// may be waiting to be touched. Gets what is being done, and for how long.
        public var slowCallNotice: (@Sendable (_ operation: String, _ elapsed: Duration) -> Void)?
        /// Whether the PIN is sent even where the token says that one more wrong one locks it, or that it is locked.
        public var allowFinalTry: Bool
        /// Whether a token with a keypad of its own is logged in to by that, without asking for a PIN here.
        public var usesProtectedAuthenticationPath: Bool

        /// Twice as many as there are cores, and at least four: a session that waits, for a lock of the token's or
        /// for a card, leaves a core to another.
        public static let defaultMaximumSessions = max(4, 2 * sysconf(Int32(_SC_NPROCESSORS_ONLN)))

        /// Makes a configuration; the defaults suit all tokens known.
        public init(
            maximumSessions: Int = defaultMaximumSessions, deadline: Duration = .seconds(5),
            slowCallNotice: (@Sendable (_ operation: String, _ elapsed: Duration) -> Void)? = nil,
            allowFinalTry: Bool = false, usesProtectedAuthenticationPath: Bool = false
        ) {
            precondition(maximumSessions > 0, "a pool without sessions serves nobody")
            self.maximumSessions = maximumSessions
            self.deadline = deadline
            self.slowCallNotice = slowCallNotice
            self.allowFinalTry = allowFinalTry
            self.usesProtectedAuthenticationPath = usesProtectedAuthenticationPath
        }
    }

    /// The module.
    public let module: Module
    /// Which token of the module.
    public let token: PKCS11URI

    let configuration: Configuration
    let pin: @Sendable () throws -> SecretBytes?
    let admission: Admission
    let watchdog: Watchdog?
    let logins = Atomic<Int>(0)

    /// The process whose state `sharedState` is; 0 while a child replaces it.
    private let process = Atomic<Int32>(getpid())
    // Written only by the one thread that has put 0 into `process`, and read only after `process` was seen to
    // be this process.
    nonisolated(unsafe) private var sharedState: Lock<State>

    /// Surrounds every login with a PIN.
    ///
    /// Calls `send`, which returns whether the token has checked the PIN, or throws instead of sending it.
    package typealias Admission = @Sendable (_ pin: SecretBytes, _ send: () throws -> Bool) throws -> Bool

    /// Makes a pool; nothing is opened before the first call.
    ///
    /// - Parameters:
    ///   - token: must fit exactly one token.
    ///   - pin: asked at most once for each login, with no lock held; `nil` means to go without a login. When it
    ///     throws, every call that waits for this login throws the same.
    public convenience init(
        module: Module, token: PKCS11URI, configuration: Configuration = Configuration(),
        pin: @escaping @Sendable () throws -> SecretBytes?
    ) {
        self.init(module: module, token: token, configuration: configuration, pin: pin) { try $1() }
    }

    /// Makes a pool that sends no PIN but through `admission`.
    package init(
        module: Module, token: PKCS11URI, configuration: Configuration,
        pin: @escaping @Sendable () throws -> SecretBytes?, admission: @escaping Admission
    ) {
        self.module = module
        self.token = token
        self.configuration = configuration
        self.pin = pin
        self.admission = admission
        watchdog = configuration.slowCallNotice.map { Watchdog(notice: $0) }
        unsafe sharedState = Lock(State(limit: configuration.maximumSessions, generation: module.generation))
        module.register(self)
    }

    /// Changes whenever handles of objects may have died: with each login, logout and new initialisation.
    public var loginEpoch: Int { module.generation << 32 | logins.load(ordering: .relaxed) }

    /// Runs `body` with a session of its own, logged in.
    ///
    /// Blocks until a session is free, at most until the deadline, and then as long as `body` does. When `body`
    /// throws a `PKCS11Error` whose `recovery` is not `.final`, it runs again after what the recovery says, unless
    /// that is `.lookUpAgain`, which only the caller can do. Other errors pass through. Do not keep the session.
    ///
    /// - Parameters:
    ///   - idempotent: whether `body` may run more than once.
    ///   - deadline: until when to wait for a session; from now by `Configuration.deadline` where it is `nil`.
    /// - Throws: `ReturnValue.sessionCount` of `PKCS11Function.openSession` when no session became free in time;
    ///   `cantLock` when another call of the module has not returned a second after that; `tokenNotPresent` when there
    ///   is no such token; what `C_Login` answered, once for a wrong PIN and from then on without asking the token
    ///   until `login()` is called; what `pin` throws; what `body` throws.
    public func withSession<Result>(
        idempotent: Bool = true, deadline: Deadline? = nil, _ body: (borrowing Session) throws -> Result
    ) throws -> Result {
        let state = currentState()
        var climb = Climb(deadline: deadline)
        while true {
            let pooled: PooledSession
            let (generation, ready) = state.withLock { state in
                let generation = module.generation
                return (generation, module.holdsOperations ? nil : state.takeReady(generation))
            }
            if let ready {
                pooled = ready
            } else {
                pooled = try acquire(state, &climb)
            }
            let failure: any Error
            let watched = watchdog?.begin("session")
            do {
                let result = try body(pooled.session)
                if let watched { watchdog?.end(watched) }
                release(pooled, state)
                return result
            } catch {
                failure = error
            }
            if let watched { watchdog?.end(watched) }
            noteFailure(failure, pooled, state)
            release(pooled, state)
            guard let error = failure as? PKCS11Error else { throw failure }
            try heal(error, isIdempotent: idempotent, generation: generation, state, &climb)
        }
    }

    /// Opens a session that is not one of the pool's, logged in as they are: for an operation that is begun long before
    /// it is ended, during which others are not to lack a session.
    ///
    /// It is the caller's to close. The login lasts for as long as it is open, unless `logout()` ends it.
    ///
    /// - Throws: As `withSession`.
    package func openSession() throws -> Session {
        try withSession { _ in }
        let deadline = Deadline.after(configuration.deadline)
        let place = try slot(currentState(), until: deadline)
        return try place.slot.openSession(readWrite: !place.isWriteProtected, until: deadline)
    }

    /// Logs in now rather than at the first call, and forgets that a PIN was refused before.
    ///
    /// - Parameter provingPIN: Whether the PIN is sent, too, where another pool of this process is logged in: a token
    ///   that is logged in takes any PIN for right. That pool has to log in again then.
    /// - Throws: as `withSession`.
    public func login(provingPIN: Bool = false) throws {
        try login(provingPIN: provingPIN, unlessRefusedSince: .max)
    }

    /// As `login(provingPIN:)`, but does not forget that a PIN was refused by a login that was begun since
    /// `loginAttempts` was this: who had put his PIN in place by then is told of that one.
    ///
    /// - Throws: as `withSession`.
    package func login(provingPIN: Bool, unlessRefusedSince attempts: Int) throws {
        currentState().withLock { state in
            if case .refused = state.login, state.attempt <= attempts { state.login = .needed }
            switch state.login {
            case .ready, .refused: break
            case .needed, .inProgress: if provingPIN { state.provesPIN = true }
            }
        }
        try withSession { _ in }
    }

    /// How many logins were begun in this process.
    package var loginAttempts: Int { currentState().withLock { $0.attempt } }

    /// Forgets that a PIN was refused: the next call asks for one and sends it.
    public func forgetRefusal() {
        currentState().withLock { if case .refused = $0.login { $0.login = .needed } }
    }

    /// Logs the token out, for the whole process; the next call logs in again.
    ///
    /// Handles of private objects die. Blocks until a login in progress has ended. A new initialisation of the module
    /// has ended this pool's login, too; that of a pool that has logged in since then stays.
    ///
    /// Corresponds to `C_Logout`.
    ///
    /// - Throws: what `C_Logout` answered; not `userNotLoggedIn`. `sessionCount` where a login lasts beyond the
    ///   deadline.
    public func logout() throws {
        let state = currentState()
        let anchor = state.wait(until: .after(configuration.deadline)) { state -> PooledSession?? in
            if case .inProgress = state.login { return nil }
            return .some(state.forgetLogin())
        }
        guard let outcome = anchor else {
            throw PKCS11Error(
                function: .logout, returnValue: .sessionCount, detail: "a login took longer than the deadline")
        }
        logins.add(1, ordering: .relaxed)
        guard let anchor = outcome else { return }
        do throws(PKCS11Error) {
            try anchor.session.logout()
        } catch {
            // Looked at last: another thread may have initialised the module between any two of the steps above.
            guard error.returnValue == .userNotLoggedIn || anchor.generation != module.generation else { throw error }
        }
    }

    /// Closes all sessions; those in use when their operation has ended. Later calls throw
    /// `ReturnValue.sessionClosed`.
    public func close() {
        let state = currentState()
        // Taken out of the lock, since closing sessions is calling the token.
        let (leases, anchor, boxes) = state.withLock { state in
            let (leases, waiters) = state.machine.close()
            return (leases, state.forgetLogin(), waiters.compactMap { state.mailboxes.removeValue(forKey: $0) })
        }
        for box in boxes { box.deliver(.closed) }
        withExtendedLifetime((leases, anchor)) {}
    }

    /// What the token says about itself.
    ///
    /// Needs no session and no login, and heals as `withSession` does. Corresponds to `C_GetTokenInfo`.
    ///
    /// - Throws: `ReturnValue.tokenNotPresent` when there is no such token, `cantLock` when another call of the module
    ///   did not return until the deadline, or what the module answered.
    public func tokenInfo() throws -> TokenInfo {
        if module.isForked { try module.reinitialize() }
        let state = currentState()
        let deadline = Deadline.after(configuration.deadline)
        var ladder = Ladder()
        while true {
            let generation = module.generation
            do throws(PKCS11Error) {
                return try slot(state, until: deadline).slot.tokenInfo(until: deadline)
            } catch {
                switch ladder.step(after: error.returnValue, .init()) {
                case .fail, .probe:
                    throw error
                case .pause(let duration):
                    usleep(UInt32(duration / .microseconds(1)))
                    state.withLock { $0.place = nil }
                case .replaceSession, .logInAgain:
                    // The number of the slot may be an old one. No session has failed: none is closed.
                    state.withLock { $0.place = nil }
                case .reload:
                    try module.reinitialize(ifStillIn: generation)
                }
            }
        }
    }

    /// Whether the token answers where it was last found; `true` where it is yet to be looked for.
    ///
    /// SoftHSM may take a token for broken for ever, and then still signs with it, but sees and makes no new objects.
    package var isTokenSound: Bool {
        let state = currentState()
        guard let place = state.withLock({ $0.place }), place.generation == module.generation else { return true }
        do throws(PKCS11Error) {
            _ = try place.slot.tokenInfo(until: .after(configuration.deadline))
            return true
        } catch {
            return error.returnValue != .generalError
        }
    }

    /// Whether something runs on a session of the pool's, or one is being opened for it.
    var isBusy: Bool {
        currentState().withLock { $0.machine.sessionCount > $0.machine.idle.count }
    }

    /// The state of this process' pool.
    @inline(__always)
    func currentState() -> Lock<State> {
        let identifier = getpid()
        if process.load(ordering: .acquiring) == identifier { return unsafe sharedState }
        return adoptFork(identifier)
    }

    /// Begins anew in a forked child. The parent's lock may be held for ever here, by a thread that there is no more.
    private func adoptFork(_ identifier: Int32) -> Lock<State> {
        while true {
            let seen = process.load(ordering: .acquiring)
            if seen == identifier { return unsafe sharedState }
            let (isOurs, _) = process.compareExchange(expected: seen, desired: 0, ordering: .acquiringAndReleasing)
            if seen != 0 && isOurs {
                // Never released: destroying a condition on which the parent's threads wait would wait for them.
                _ = unsafe Unmanaged.passRetained(sharedState)
                unsafe sharedState = Lock(State(limit: configuration.maximumSessions, generation: module.generation))
                logins.add(1, ordering: .relaxed)
                process.store(identifier, ordering: .releasing)
                return unsafe sharedState
            }
            usleep(100)
        }
    }
}
