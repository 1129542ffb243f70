import CP11Kit
import Glibc
import KeyfobPrimitives
import Synchronization

/// A loaded and initialised Cryptoki library.
///
/// There is one object per library file and process: loading the same library again returns the same object. The
/// library is finalised when the last reference is released. Slots and sessions hold such a reference.
///
/// All calls block the calling thread until the library answers, and may be made from any thread: the library is
/// initialised with `CKF_OS_LOCKING_OK`. Calls that concern the list of slots, and the opening and closing of sessions,
/// are made one at a time, since some libraries (tpm2-pkcs11, SoftHSM) are not thread-safe there. With SoftHSM, calls
/// that list objects or add one are made one at a time too; with p11-kit's client, all calls are.
///
/// If one of these calls does not return, the others fail with `ReturnValue.cantLock`. Calls of a `SessionPool` that
/// look for the token or open a session fail at the pool's deadline. The others fail after twenty seconds, or after ten
/// minutes while a key pair is being generated. Sessions are then closed by threads that go on waiting.
///
/// When a thread calls exit(3), calls in progress have five seconds to return, and later calls fail with
/// `ReturnValue.functionCanceled`. Only one thread may call exit(3): glibc before 2.41 lets two threads destroy C++
/// libraries at the same time, which no handler can prevent.
@safe public final class Module: Sendable {
    /// The resolved path of the library; for a registered module without a file, the module's name.
    public let path: String

    /// The name of the module in p11-kit's configuration; `nil` if it was loaded by path.
    public let name: String?

    let functions: FunctionList
    let gate = CallGate()
    let loginChanges = LoginChanges()
    /// What the library says of itself.
    let identity: TokenProfile.Identity
    /// The profile of the library, without that of a token.
    public let profile: TokenProfile
    /// Whether calls that list objects and calls that add one must exclude each other.
    private let takesTurns: Bool
    private let turn = Lock(Turn.free)
    /// Whether operations of two calls must hold `slotLock`.
    let operatesAlone: Bool
    /// Held around each call if only one thread at a time may be inside the library. A call takes no lock after it.
    private let callLock: Lock<Int>?
    /// Held around calls that concern slots, around the opening and closing of sessions, and around operations if the
    /// library `operatesAlone`. Such a call may never end: never wait for this lock without a deadline while other
    /// threads wait for the caller.
    let slotLock = Lock(0)
    /// The number of sessions that threads are going to close later, because another call did not return in time.
    let lateClosings = Atomic(0)

    let initializationArguments: InitializationArguments
    private let release: (@Sendable () -> Void)?
    let lifecycle = Lock(Lifecycle())
    /// The pools of this process that use the library.
    private let pools = Lock<[WeakPool]>([])
    /// Whether pools must not begin operations, because those in progress are being waited for.
    private let holding = Atomic(false)
    let process = getpid()

    /// The state of the turn for calls that a module can only do one at a time.
    private enum Turn {
        case free, taken
        /// A key pair is being generated, which may take minutes.
        case generating
    }

    private struct WeakPool {
        weak var pool: (any ModuleClient)?
    }

    struct Lifecycle {
        /// Whether this object must finalise the library; false if it was initialised by other code before.
        var isOurs = false
        /// The earliest time for the next one.
        var nextReinitialization: Deadline?
    }

    /// Initialises a library that is already loaded.
    ///
    /// - Parameter release: Called on deinitialisation, after the library was finalised.
    /// - Throws: The answer of `C_Initialize`; `release` is called then, too.
    init(
        functions: FunctionList, path: String, name: String?, initializationArguments: String?,
        release: (@Sendable () -> Void)?
    ) throws(PKCS11Error) {
        self.functions = functions
        self.path = path
        self.name = name
        self.initializationArguments = InitializationArguments(reserved: initializationArguments)
        self.release = release
        let isOurs: Bool
        do throws(PKCS11Error) {
            isOurs = try Self.initialize(functions, of: path, self.initializationArguments)
        } catch {
            release?()
            throw error
        }
        identity = Self.identity(of: functions, path)
        profile = TokenProfile(of: identity)
        takesTurns = profile.has(.listsAlone)
        operatesAlone = profile.has(.operatesAlone)
        callLock = profile.has(.callsAlone) ? Lock(0) : nil
        lifecycle.withLock { $0.isOurs = isOurs }
        registerForExit()
    }

    /// What an initialised library says of itself; only its path if it does not answer.
    private static func identity(of functions: FunctionList, _ path: String) -> TokenProfile.Identity {
        var identity = TokenProfile.Identity(file: path)
        var info = CK_INFO()
        guard let getInfo = unsafe functions.table.pointee.C_GetInfo,
            PendingCalls.during(.getInfo, of: path, { unsafe getInfo(&info) }) == CKR_OK
        else { return identity }
        let answer = ModuleInfo(info)
        (identity.libraryManufacturer, identity.libraryDescription, identity.libraryVersion) =
            (answer.manufacturer, answer.libraryDescription, answer.libraryVersion)
        return identity
    }

    /// Runs a call that lists the objects of a token or adds one; one at a time if the library has the quirk
    /// `listsAlone`.
    ///
    /// SoftHSM 2.6 creates the file of a new object before it takes the lock of its list. A thread that lists the
    /// objects in between loads the half-written file as a second object, as if another process had made it. The
    /// creating call then fails, or returns an invalid handle. With two processes, each waits for the other's lock on
    /// the file.
    ///
    /// - Parameter deadline: Until when to wait for another such call. If `nil`, the wait lasts ``patience``, or ten
    ///   minutes while a key pair is being generated.
    /// - Returns: The return value of the call.
    /// - Throws: `ReturnValue.cantLock` if another such call has not returned by then.
    func inTurn(
        _ function: PKCS11Function, until deadline: Deadline? = nil, _ call: () -> CK_RV
    ) throws(PKCS11Error) -> CK_RV {
        guard takesTurns else {
            return pending(function, call)
        }
        let own: Turn = function == .generateKeyPair ? .generating : .taken
        // The lock itself is not held during the call, since waiting for a lock with a deadline means polling.
        func take(until deadline: Deadline) -> Bool {
            turn.wait(until: deadline) { turn -> Bool? in
                guard turn == .free else { return nil }
                turn = own
                return true
            } ?? false
        }
        if !take(until: deadline ?? .after(Self.patience)) {
            // Long RSA keys take minutes, so this is not a hang.
            guard deadline == nil, turn.withLock({ $0 == .generating }), take(until: .after(.seconds(600))) else {
                throw .busy(function)
            }
        }
        defer {
            turn.withLock { $0 = .free }
            turn.signal()
        }
        return pending(function, call)
    }

    /// Makes one C call, noted as pending meanwhile, while the library is not being finalised.
    ///
    /// If only one thread at a time may be inside the library, waits for the call of another thread without a limit.
    @inline(__always)
    func pending(_ function: PKCS11Function, awaitsPerson: Bool = false, _ call: () -> CK_RV) -> CK_RV {
        PendingCalls.during(function, of: path, awaitsPerson: awaitsPerson) {
            guard let callLock else { return call() }
            return callLock.withLock { _ in call() }
        }
    }

    deinit {
        // Finalising in a forked child would affect the parent's connection to a daemon or a card.
        guard !isForked else { return }
        // Counted as a call, so that exit(3) waits for it. A process that already ends leaves the library as it is.
        guard gate.enter() else { return }
        defer {
            unregisterForExit()
            gate.leave()
        }
        if lifecycle.withLock({ $0.isOurs }), let finalize = unsafe functions.table.pointee.C_Finalize {
            _ = PendingCalls.during(.finalize, of: path) { finalize(nil) }
        }
        PendingCalls.during(.finalize, of: path) { release?() }
    }

    /// The number of times the module has been initialised again. Session and object handles are invalid in later
    /// generations.
    public var generation: Int { gate.generation }

    /// Whether this process is a fork of the one that initialised the module. All calls of the module then fail.
    public var isForked: Bool { process != getpid() }

    /// Throws in a process that was forked after the module was loaded.
    ///
    /// The child has a copy of the library's state and none of its threads, and with a daemon or a card behind the
    /// library it shares the parent's connection.
    ///
    /// - Throws: `ReturnValue.cantLock` of `PKCS11Function.initialize`.
    func requireOwnProcess() throws(PKCS11Error) {
        guard isForked else { return }
        throw PKCS11Error(
            function: .initialize, returnValue: .cantLock,
            detail: "this process was forked after the module was loaded")
    }

    /// Returns information about the module.
    ///
    /// Corresponds to `C_GetInfo`.
    ///
    /// - Throws: The module's answer, such as `ReturnValue.deviceError` from a lost daemon.
    public func info() throws(PKCS11Error) -> ModuleInfo {
        let getInfo = try unsafe functions.entry(functions.table.pointee.C_GetInfo, .getInfo)
        // Zeroed, because some modules do not write all fields.
        var info = CK_INFO()
        try call(.getInfo) { pending(.getInfo) { unsafe getInfo(&info) } }
        return ModuleInfo(info)
    }

    /// Finalises the library and initialises it again, which restores a lost daemon (p11-kit's remote, tpm2).
    ///
    /// Waits at most one second for operations on the sessions of pools, and at most two for calls in progress. Calls
    /// that arrive in the meantime wait; those on earlier sessions fail with `ReturnValue.sessionHandleInvalid`. All
    /// sessions, logins and object handles are invalid afterwards. Do not call this from within an operation on a
    /// session.
    ///
    /// Does so at most once a second, since each time ends the sessions of all threads. If other code in the process
    /// has the same library open through p11-kit, the library itself stays initialised.
    ///
    /// Corresponds to `C_Finalize` and `C_Initialize`.
    ///
    /// - Parameter generation: If given, does nothing unless the module is still in this generation.
    /// - Throws: `ReturnValue.functionFailed` if calls in progress did not end in time; `ReturnValue.cantLock` if
    ///   another thread has been initialising the library for twenty seconds, or if this process was forked after the
    ///   library was loaded; `ReturnValue.functionCanceled` if the process is ending; otherwise the answer of
    ///   `C_Initialize`.
    public func reinitialize(ifStillIn generation: Int? = nil) throws(PKCS11Error) {
        try reinitialize(ifStillIn: generation, until: nil) { false }
    }

    /// Initialises the library again, like `reinitialize(ifStillIn:)`, but waits if it was initialised in the last
    /// second.
    ///
    /// - Parameters:
    ///   - generation: If given, does nothing unless the module is still in this generation.
    ///   - end: Until when to wait. If the second has not passed by then, does nothing.
    ///   - isObsolete: Whether the library works again without it; then it does nothing.
    func reinitialize(
        ifStillIn generation: Int?, until end: Deadline?, unless isObsolete: () -> Bool
    ) throws(PKCS11Error) {
        // Before taking the lock, which a thread of the parent may have held at a fork.
        try requireOwnProcess()
        try checkEnd()
        let isDone: Void? = try lifecycle.withLock(until: .after(Self.patience)) { lifecycle throws(PKCS11Error) in
            if let generation, generation != gate.generation { return }
            if let next = lifecycle.nextReinitialization {
                // The other threads that need this wait for the lock, and find another generation afterwards.
                while !next.hasPassed {
                    guard let end, !end.hasPassed, !isObsolete() else { return }
                    usleep(2_000)
                }
            }
            if isObsolete() { return }
            lifecycle.nextReinitialization = .after(.seconds(1))

            let deadline = Deadline.after(.seconds(2))
            holding.store(true, ordering: .sequentiallyConsistent)
            defer { holding.store(false, ordering: .sequentiallyConsistent) }
            awaitOperations()
            gate.shut()
            while !gate.isQuiet {
                if deadline.hasPassed {
                    gate.open(newGeneration: false)
                    throw PKCS11Error(
                        function: .finalize, returnValue: .functionFailed, detail: "calls are still in progress")
                }
                usleep(500)
            }
            defer { gate.open(newGeneration: true) }
            // Counted as a call, so that the end of the process waits for it. Check for the end afterwards, so that one
            // of the two threads sees the other.
            gate.enterAlone()
            defer { gate.leave() }
            try checkEnd()
            if lifecycle.isOurs, let finalize = unsafe functions.table.pointee.C_Finalize {
                // Ignore a failure (not initialised, a lost daemon): the library is initialised in any case.
                _ = PendingCalls.during(.finalize, of: path) { finalize(nil) }
            }
            lifecycle.isOurs = false
            lifecycle.isOurs = try Self.initialize(functions, of: path, initializationArguments)
        }
        guard isDone != nil else { throw Self.occupied(.finalize) }
    }

    /// Whether pools must not begin operations.
    ///
    /// The pool reads this under the lock with which it counts its sessions. So either the waiting thread sees the
    /// operation, or the operation sees this flag.
    var holdsOperations: Bool { holding.load(ordering: .sequentiallyConsistent) }

    /// Registers a pool that uses the library.
    func register(_ pool: any ModuleClient) {
        pools.withLock { pools in
            pools.removeAll { $0.pool == nil }
            pools.append(WeakPool(pool: pool))
        }
    }

    /// Runs `change`, which logs in or out on the token in a slot. The pools learn of it before it begins.
    func changingLogin<Failure: Error>(in slot: UInt, _ change: () throws(Failure) -> Void) throws(Failure) {
        try loginChanges.during(slot) { () throws(Failure) in
            for pool in pools.withLock({ $0.compactMap(\.pool) }) { pool.willChangeLogin(in: slot) }
            try change()
        }
    }

    /// Waits at most a second for operations that have begun.
    ///
    /// This keeps a key generation from being lost because another token needs the module initialised again. An
    /// operation that takes longer may itself be waiting for this thread, or for a lost daemon.
    private func awaitOperations() {
        let patience = Deadline.after(.seconds(1))
        while pools.withLock({ $0.compactMap(\.pool) }).contains(where: \.isBusy), !patience.hasPassed { usleep(500) }
    }

    /// Makes one C call that belongs to no session, while the library is not being finalised.
    ///
    /// - Parameter deadline: Until when to wait at the gate; see `awaitGate(_:until:)`. If it has already passed, one
    ///   second.
    func call(
        _ function: PKCS11Function, until deadline: Deadline? = nil, _ body: () throws(PKCS11Error) -> CK_RV
    ) throws(PKCS11Error) {
        try requireOwnProcess()
        while !gate.enter() {
            let hasPassed = deadline?.hasPassed ?? false
            try awaitGate(function, until: hasPassed ? Deadline.after(.seconds(1)) : deadline)
        }
        defer { gate.leave() }
        try PKCS11Error.check(function, body())
    }

    /// How long to wait for another thread that initialises the library or makes it look at a slot.
    ///
    /// SoftHSM waits there for locks of other processes without a limit, and so for ever if one of them is stopped. A
    /// card reader may hang as well.
    static let patience = Duration.seconds(20)

    /// Waits while the library is finalised and initialised, until `deadline` or for ``patience``.
    ///
    /// - Throws: `ReturnValue.cantLock` if that took too long, `ReturnValue.functionCanceled` if the process is ending.
    func awaitGate(_ function: PKCS11Function, until deadline: Deadline? = nil) throws(PKCS11Error) {
        try checkEnd()
        // The thread that shut the gate holds this lock until it has opened the gate again.
        guard lifecycle.withLock(until: deadline ?? .after(Self.patience), { _ in true }) == nil else { return }
        throw Self.occupied(function)
    }

    /// The error of a call for which another thread did not finish initialising the module in time.
    static func occupied(_ function: PKCS11Function) -> PKCS11Error {
        PKCS11Error(
            function: function, returnValue: .cantLock,
            detail: "another thread is still initialising the module, which may wait for the lock of another process")
    }

    /// Initialises the library. Returns false if other code had initialised it, in which case it must not be finalised
    /// here.
    private static func initialize(
        _ functions: FunctionList, of path: String, _ arguments: InitializationArguments
    ) throws(PKCS11Error) -> Bool {
        let initialize = try unsafe functions.entry(functions.table.pointee.C_Initialize, .initialize)
        let returnValue = PendingCalls.during(.initialize, of: path) { unsafe initialize(arguments.pointer) }
        if returnValue == CKR_CRYPTOKI_ALREADY_INITIALIZED { return false }
        try PKCS11Error.check(.initialize, returnValue)
        return true
    }
}
