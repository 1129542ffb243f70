import Glibc
public import KeyfobPrimitives
import Synchronization

/// A set of sessions with one token, shared by many threads, that recovers from errors of sessions and devices.
///
/// A login belongs to the token: the pool logs in once, keeps one session open so that the login lasts, and logs in
/// again if the token has lost it. A session that saw an error of the session or the device is closed. An operation
/// that may run twice is repeated within the call, within two seconds and with one login at most. A second login is
/// tried only if the first ended before the token had checked the PIN.
///
/// All calls block the calling thread and may be made from any thread. In a process that was forked after the module
/// was loaded they throw.
@safe public final class SessionPool: Sendable {
    /// The settings of a pool.
    public struct Configuration: Sendable {
        /// The maximum number of sessions; many more than there are cores make no token faster.
        public var maximumSessions: Int
        /// How long a call waits for a session.
        public var deadline: Duration
        /// Called when an operation has lasted for half a second, since a card may be waiting to be touched.
        ///
        /// Called once per operation, from a thread of the pool, with the name of the operation and the elapsed time.
        public var slowCallNotice: (@Sendable (_ operation: String, _ elapsed: Duration) -> Void)?
        /// Whether to send the PIN even if the token reports that one more wrong PIN locks it, or that it is locked.
        public var allowFinalTry: Bool
        /// Whether to log in through the keypad of a token that has one, without asking for a PIN here.
        public var usesProtectedAuthenticationPath: Bool
        /// Whether to use a token with the right serial number and another label if no token fits the whole URI.
        package var followsSerialNumber = false

        /// Twice the number of cores, and at least four: while a session waits for a lock of the token or for a card,
        /// another can use its core.
        public static let defaultMaximumSessions = max(4, 2 * sysconf(Int32(_SC_NPROCESSORS_ONLN)))

        /// Creates a configuration; the defaults suit all known tokens.
        public init(
            maximumSessions: Int = defaultMaximumSessions, deadline: Duration = .seconds(5),
            slowCallNotice: (@Sendable (_ operation: String, _ elapsed: Duration) -> Void)? = nil,
            allowFinalTry: Bool = false, usesProtectedAuthenticationPath: Bool = false
        ) {
            precondition(maximumSessions > 0, "a pool needs at least one session")
            self.maximumSessions = maximumSessions
            self.deadline = deadline
            self.slowCallNotice = slowCallNotice
            self.allowFinalTry = allowFinalTry
            self.usesProtectedAuthenticationPath = usesProtectedAuthenticationPath
        }
    }

    /// The module.
    public let module: Module
    /// The URI that identifies the token within the module.
    public let token: PKCS11URI

    let configuration: Configuration
    let pin: @Sendable () throws -> SecretBytes?
    let admission: Admission
    let watchdog: Watchdog?
    let logins = Atomic<Int>(0)
    /// The number of logins and logouts by this process with the token, through any pool.
    private let loginChanges = Atomic<Int>(0)

    let state: Lock<State>

    /// Surrounds every login with a PIN.
    ///
    /// Calls `send`, which returns whether the token has checked the PIN, or throws instead of sending it.
    package typealias Admission = @Sendable (_ pin: SecretBytes, _ send: () throws -> Bool) throws -> Bool

    /// Creates a pool. Nothing is opened before the first call.
    ///
    /// - Parameters:
    ///   - token: A URI that fits exactly one token.
    ///   - pin: Asked at most once for each login, with no lock held; `nil` means to work without a login. If it
    ///     throws, every call that waits for this login throws the same error.
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
        state = Lock(State(limit: configuration.maximumSessions, generation: module.generation))
        module.register(self)
    }

    /// Changes whenever object handles may have become invalid: with each login and logout of this process on the
    /// token, with each lost login that the pool notices, and with each initialisation of the module.
    public var loginEpoch: Int {
        let changes = loginChanges.load(ordering: .sequentiallyConsistent)
        return module.generation << 32 | (logins.load(ordering: .relaxed) + changes)
    }

    /// Runs `body`, which searches for objects, and again if this process logs in or out on the token meanwhile.
    ///
    /// Another pool that checks its PIN logs the token out and in again. Blocks while such a login is in progress, at
    /// most until `Configuration.deadline`.
    ///
    /// - Parameters:
    ///   - session: The session of this pool that `body` uses.
    ///   - body: Searches, and throws `ReturnValue.userNotLoggedIn` if the login is missing afterwards.
    /// - Throws: `ReturnValue.cantLock` of `PKCS11Function.login` if the deadline passes; the errors of `body`.
    package func searching<Result>(with session: borrowing Session, _ body: () throws -> Result) throws -> Result {
        let deadline = Deadline.after(configuration.deadline)
        repeat {
            // Read before the wait, so that a change that begins after the wait is seen.
            let before = loginChanges.load(ordering: .sequentiallyConsistent)
            guard module.loginChanges.settle(in: session.slot.id, until: deadline) else { break }
            let result = try body()
            if loginChanges.load(ordering: .sequentiallyConsistent) == before { return result }
        } while !deadline.hasPassed
        throw PKCS11Error.busy(.login)
    }

    /// Runs `body` with a session of its own, logged in.
    ///
    /// Blocks until a session is free, at most until the deadline, and then as long as `body` does. If `body` throws a
    /// `PKCS11Error` whose `recovery` is not `.final`, it runs again after that recovery. `.lookUpAgain` is thrown,
    /// since only the caller can look up a handle. Other errors are passed on. Do not keep the session.
    ///
    /// - Parameters:
    ///   - idempotent: Whether `body` may run more than once.
    ///   - deadline: Until when to wait for a session; `Configuration.deadline` from now if `nil`.
    /// - Throws: `ReturnValue.sessionCount` of `PKCS11Function.openSession` if no session became free in time;
    ///   `cantLock` if another call of the module has not returned a second after that; `tokenNotPresent` if there is
    ///   no such token; `sessionClosed` if the pool is closed; the answer of `C_Login`, repeated after a refused PIN
    ///   without asking the token until `login()` is called; the errors of `pin` and `body`.
    public func withSession<Result>(
        idempotent: Bool = true, deadline: Deadline? = nil, _ body: (borrowing Session) throws -> Result
    ) throws -> Result {
        try module.requireOwnProcess()
        var recovery = RecoveryAttempt(deadline: deadline)
        while true {
            let pooled: PooledSession
            let (generation, ready) = state.withLock { state in
                let generation = module.generation
                return (generation, module.holdsOperations ? nil : state.takeReady(generation))
            }
            if let ready {
                pooled = ready
            } else {
                pooled = try acquire(state, &recovery)
            }
            let epoch = logins.load(ordering: .relaxed)
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
            noteFailure(failure, pooled, state, since: epoch)
            release(pooled, state)
            guard let error = failure as? PKCS11Error else { throw failure }
            try heal(error, isIdempotent: idempotent, generation: generation, state, &recovery)
        }
    }

    /// Opens a logged-in session that does not belong to the pool.
    ///
    /// Use it for an operation that begins long before it ends, so that other operations do not lack a session. The
    /// caller must close it. The login lasts while it is open, unless `logout()` ends it.
    ///
    /// - Throws: `ReturnValue.sessionCount` or `cantLock` if there was no session in time, `tokenNotPresent`, the
    ///   answer of `C_Login`, or the errors of `pin`.
    package func openSession() throws -> Session {
        try withSession { _ in }
        let deadline = Deadline.after(configuration.deadline)
        let place = try slot(state, until: deadline)
        return try place.slot.openSession(readWrite: !place.isWriteProtected, until: deadline)
    }

    /// Logs in now rather than at the first call, and forgets that a PIN was refused before.
    ///
    /// - Parameter provingPIN: Whether to send the PIN even if another pool of this process is logged in. A token that
    ///   is logged in accepts any PIN, so it is logged out first, and that pool has to log in again.
    /// - Throws: `ReturnValue.sessionCount` or `cantLock` if there was no session in time, `tokenNotPresent`, the
    ///   answer of `C_Login`, or the errors of `pin`.
    public func login(provingPIN: Bool = false) throws {
        try login(provingPIN: provingPIN, unlessRefusedSince: .max)
    }

    /// Logs in like `login(provingPIN:)`, but keeps a refusal from a login that began after `attempts`.
    ///
    /// A caller that had set its PIN by then gets the error of that login.
    ///
    /// - Parameter attempts: A former value of `loginAttempts`.
    /// - Throws: `ReturnValue.sessionCount` or `cantLock` if there was no session in time, `tokenNotPresent`, the
    ///   answer of `C_Login`, or the errors of `pin`.
    package func login(provingPIN: Bool, unlessRefusedSince attempts: Int) throws {
        state.withLock { state in
            if case .refused = state.login, state.attempt <= attempts { state.login = .needed }
            switch state.login {
            case .ready, .refused: break
            case .needed, .inProgress: if provingPIN { state.provesPIN = true }
            }
        }
        try withSession { _ in }
    }

    /// Whether the user is logged in on all sessions of the pool, as far as is known.
    package var isUserExpected: Bool { state.withLock { $0.expectsUser } }

    /// The number of logins begun in this process.
    package var loginAttempts: Int { state.withLock { $0.attempt } }

    /// Forgets that a PIN was refused: the next call asks for a PIN and sends it.
    public func forgetRefusal() {
        state.withLock { if case .refused = $0.login { $0.login = .needed } }
    }

    /// Logs the token out, for the whole process; the next call logs in again.
    ///
    /// Handles of private objects become invalid. Blocks until a login in progress has ended. If the module has been
    /// initialised again since this pool logged in, its login has ended already, and the login of another pool since
    /// then is kept.
    ///
    /// Corresponds to `C_Logout`.
    ///
    /// - Throws: The answer of `C_Logout`, except `userNotLoggedIn`; `sessionCount` if a login lasts beyond the
    ///   deadline.
    public func logout() throws {
        try module.requireOwnProcess()
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
            // Compare the generation last: another thread may initialise the module between any two of these steps.
            guard error.returnValue == .userNotLoggedIn || anchor.generation != module.generation else { throw error }
        }
    }

    /// Closes all sessions, or as soon as their operation has ended. Later calls throw `ReturnValue.sessionClosed`.
    public func close() {
        // Taken out of the lock, because closing a session calls the module.
        let (leases, anchor, boxes) = state.withLock { state in
            let (leases, waiters) = state.machine.close()
            return (leases, state.forgetLogin(), waiters.compactMap { state.mailboxes.removeValue(forKey: $0) })
        }
        for box in boxes { box.deliver(.closed) }
        withExtendedLifetime((leases, anchor)) {}
    }

    /// Returns information about the token.
    ///
    /// Needs no session and no login. Repeats the call and initialises the module again after errors, like
    /// `withSession`. Corresponds to `C_GetTokenInfo`.
    ///
    /// - Throws: `ReturnValue.tokenNotPresent` if the token does not exist, `cantLock` if another call of the module
    ///   did not return before the deadline, or the module's answer.
    public func tokenInfo() throws -> TokenInfo {
        try module.requireOwnProcess()
        let deadline = Deadline.after(configuration.deadline)
        var policy = RecoveryPolicy()
        while true {
            let generation = module.generation
            do throws(PKCS11Error) {
                return try slot(state, until: deadline).slot.tokenInfo(until: deadline)
            } catch {
                switch policy.step(after: error.returnValue, .init()) {
                case .fail, .probe:
                    throw error
                case .pause(let duration):
                    usleep(UInt32(duration / .microseconds(1)))
                    state.withLock { $0.place = nil }
                case .replaceSession, .logInAgain:
                    // The slot number may be outdated. No session has failed, so none is closed.
                    state.withLock { $0.place = nil }
                case .reload:
                    try module.reinitialize(ifStillIn: generation)
                }
            }
        }
    }

    /// Whether the token answers in the slot where it was last found; `true` if it has not been looked up yet.
    ///
    /// SoftHSM may treat a token as broken for the rest of the process. It still signs with that token, but neither
    /// finds nor creates objects.
    package var isTokenSound: Bool {
        guard let place = state.withLock({ $0.place }), place.generation == module.generation else { return true }
        do throws(PKCS11Error) {
            _ = try place.slot.tokenInfo(until: .after(configuration.deadline))
            return true
        } catch {
            return error.returnValue != .generalError
        }
    }
}

extension SessionPool: ModuleClient {
    /// Whether an operation runs on a session of the pool, or one is being opened for it.
    var isBusy: Bool {
        state.withLock { $0.machine.sessionCount > $0.machine.idle.count }
    }

    func willChangeLogin(in slot: UInt) {
        // The slot is unknown while the pool looks for its token again; its sessions may still be open.
        guard state.withLock({ $0.place?.slot.id ?? slot }) == slot else { return }
        loginChanges.add(1, ordering: .sequentiallyConsistent)
    }
}
