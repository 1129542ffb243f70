import CP11Kit
import Glibc
import KeyfobPrimitives
import Synchronization

/// One loaded and initialised Cryptoki library.
///
/// There is one per library file and process, however often it is loaded: everyone gets the same object, and the
/// library is finalised when the last reference is released. Slots and sessions hold such a reference.
///
/// All calls block the calling thread until the library answers, and may be made from any thread: the library is
/// initialised with `CKF_OS_LOCKING_OK`. Calls that concern the list of slots, and the opening and closing of
/// sessions, are made one at a time, since some libraries (tpm2-pkcs11, SoftHSM) are not thread-safe there; with
/// SoftHSM so are those that list objects or add one. Where one of them does not return, the others fail with
/// `ReturnValue.cantLock`: the first at the deadline of the pool that makes them, else after twenty seconds; the others
/// after twenty seconds, and ten minutes where it is a key pair that is being made. Sessions are then closed by threads
/// that go on waiting.
@safe public final class Module: Sendable {
    /// The resolved path of the library; for a registered module without a file, its name.
    public let path: String

    /// The name under which p11-kit's configuration knows the module; `nil` for one loaded by path.
    public let name: String?

    let functions: FunctionList
    let gate = CallGate()
    /// Whether calls that list objects and calls that add one exclude each other.
    private let takesTurns = Atomic(false)
    private let turn = Lock(Turn.free)
    /// Held around calls that concern slots, and around the opening and closing of sessions: across calls that may
    /// never end, so that nobody waits for it without a limit whom somebody else waits for.
    let slotLock = Lock(0)
    /// How many sessions threads are about to close, since another call did not return in time.
    let lateClosings = Atomic(0)

    private let initializationArguments: String?
    private let release: (@Sendable () -> Void)?
    let lifecycle = Lock(Lifecycle())
    /// The pools whose operations end before the library is initialised again.
    private let pools = Lock<[WeakPool]>([])
    /// Whether no operation is to begin on the session of a pool, because those under way are waited for.
    private let holding = Atomic(false)
    private let process = Atomic<Int32>(getpid())
    /// The process whose calls `gate` counts; 0 while a child finds out what it inherited.
    let caller = Atomic<Int32>(getpid())
    /// Whether this process was forked while another thread was inside of the library.
    let isCutOff = Atomic(false)
    /// Whether the process ends, and the library with it.
    let isEnding = Atomic(false)

    /// Who has the turn for calls of which a module can do one at a time.
    private enum Turn {
        case free, taken
        /// A key pair is being made, which may take minutes.
        case generating
    }

    private struct WeakPool {
        weak var pool: SessionPool?
    }

    struct Lifecycle {
        /// Whether finalising falls to us: not when somebody else had initialised the library before.
        var isOurs = false
        var lastReinitialization: Deadline?
    }

    /// Initialises a library that is loaded already.
    ///
    /// - Parameter release: called when the object goes, after the library was finalised.
    /// - Throws: what `C_Initialize` answered; `release` is called then, too.
    init(
        functions: FunctionList, path: String, name: String?, initializationArguments: String?,
        release: (@Sendable () -> Void)?
    ) throws(PKCS11Error) {
        self.functions = functions
        self.path = path
        self.name = name
        self.initializationArguments = initializationArguments
        self.release = release
        let isOurs = try Self.initialize(functions, of: path, arguments: initializationArguments)
        lifecycle.withLock { $0.isOurs = isOurs }
        // A module that does not say who made it is taken for one that keeps its promises.
        takesTurns.store((try? info())?.manufacturer == "SoftHSM", ordering: .relaxed)
        ForkSafety.register(self)
        endWithProcess()
    }

    /// Runs a call that lists the objects of a token or adds one, with a module that cannot do both at once.
    ///
    /// SoftHSM 2.6 makes the file of a new object first and takes the lock of its list then. A thread that lists the
    /// objects in between takes the file for somebody else's and loads it, half written, as a second object: the call
    /// that makes it fails, or its handle is not valid. Of two processes each waits for the other's lock on the file.
    ///
    /// - Parameter deadline: Until when another such call is waited for; where it is `nil`, for ``patience``, and for ten
    ///   minutes while a key pair is being made.
    /// - Returns: What the call returned.
    /// - Throws: `ReturnValue.cantLock` where another such call has not returned by then.
    func inTurn(
        _ function: PKCS11Function, until deadline: Deadline? = nil, _ call: () -> CK_RV
    ) throws(PKCS11Error) -> CK_RV {
        guard takesTurns.load(ordering: .relaxed) else {
            return PendingCalls.during(function, of: path, call)
        }
        let own: Turn = function == .generateKeyPair ? .generating : .taken
        // Not the lock itself is held meanwhile: who waits for one with a limit looks again and again.
        func take(until deadline: Deadline) -> Bool {
            turn.wait(until: deadline) { turn -> Bool? in
                guard turn == .free else { return nil }
                turn = own
                return true
            } ?? false
        }
        if !take(until: deadline ?? .after(Self.patience)) {
            // Long RSA keys take minutes, and nothing hangs.
            guard deadline == nil, turn.withLock({ $0 == .generating }), take(until: .after(.seconds(600))) else {
                throw .wantOfTurn(function)
            }
        }
        defer {
            turn.withLock { $0 = .free }
            turn.signal()
        }
        return PendingCalls.during(function, of: path, call)
    }

    deinit {
        // In a forked child the library's state is a copy of the parent's, and for a module with a daemon or a
        // card behind it, finalising would reach the parent's connection.
        guard !isForked else { return }
        if lifecycle.withLock({ $0.isOurs }), let finalize = unsafe functions.table.pointee.C_Finalize {
            _ = PendingCalls.during(.finalize, of: path) { finalize(nil) }
        }
        PendingCalls.during(.finalize, of: path) { release?() }
    }

    /// How often the module has been initialised again. Handles of sessions and objects die with their generation.
    public var generation: Int { gate.generation }

    /// Whether this process is a fork of the one that initialised the module. `reinitialize()` makes it usable.
    public var isForked: Bool { process.load(ordering: .relaxed) != getpid() }

    /// What the module says about itself.
    ///
    /// Corresponds to `C_GetInfo`.
    ///
    /// - Throws: what the module answered, such as `ReturnValue.deviceError` from a lost daemon.
    public func info() throws(PKCS11Error) -> ModuleInfo {
        let getInfo = try unsafe functions.entry(functions.table.pointee.C_GetInfo, .getInfo)
        // Zeroed, for some modules leave fields as they find them.
        var info = CK_INFO()
        try call(.getInfo) { PendingCalls.during(.getInfo, of: path) { unsafe getInfo(&info) } }
        return ModuleInfo(info)
    }

    /// Finalises the library and initialises it again, which is what heals a lost daemon (p11-kit's remote, tpm2).
    ///
    /// Lets what runs on the sessions of pools end first, for a second, and waits up to two for calls in progress;
    /// calls that arrive meanwhile wait in turn, those on sessions of before fail with
    /// `ReturnValue.sessionHandleInvalid`. All sessions, logins and object handles are gone afterwards. Not to be
    /// called by what itself runs on a session.
    /// Within a second of the last time it does nothing and returns: what failed on several threads is healed once
    /// for all. In a forked child it initialises without finalising. When something else in the process has the
    /// same library open through p11-kit, the library itself stays initialised.
    ///
    /// Corresponds to `C_Finalize` and `C_Initialize`.
    ///
    /// - Parameter generation: when given, nothing happens if the module is no longer in that generation.
    /// - Throws: `ReturnValue.functionFailed` when calls in progress did not end in time, `ReturnValue.cantLock` when
    ///   another thread has been in here for twenty seconds, or what `C_Initialize` answered.
    public func reinitialize(ifStillIn generation: Int? = nil) throws(PKCS11Error) {
        // Before the lock, which a thread of the parent's may have held for ever.
        if isForked { try checkFork() }
        try checkEnd()
        let isDone: Void? = try lifecycle.withLock(until: .after(Self.patience)) { lifecycle throws(PKCS11Error) in
            if let generation, generation != gate.generation { return }
            let isForked = self.isForked
            if !isForked, let last = lifecycle.lastReinitialization, !last.hasPassed { return }
            lifecycle.lastReinitialization = .after(.seconds(1))

            let deadline = Deadline.after(.seconds(2))
            holding.store(true, ordering: .sequentiallyConsistent)
            defer { holding.store(false, ordering: .sequentiallyConsistent) }
            if !isForked { awaitOperations() }
            gate.shut()
            // Calls that were in progress in the parent will never end in the child.
            while !isForked, !gate.isQuiet {
                if deadline.hasPassed {
                    gate.open(newGeneration: false)
                    throw PKCS11Error(
                        function: .finalize, returnValue: .functionFailed, detail: "calls are still in progress")
                }
                usleep(500)
            }
            defer { gate.open(newGeneration: true) }
            // Counted as a call, for which the end of the process waits; asked afterwards, so that one sees the other.
            gate.enterAlone()
            defer { gate.leave() }
            try checkEnd()
            if !isForked, lifecycle.isOurs, let finalize = unsafe functions.table.pointee.C_Finalize {
                // A failure (not initialised, a lost daemon) leaves nothing to do but what follows anyway.
                _ = PendingCalls.during(.finalize, of: path) { finalize(nil) }
            }
            lifecycle.isOurs = false
            lifecycle.isOurs = try Self.initialize(functions, of: path, arguments: initializationArguments)
            process.store(getpid(), ordering: .relaxed)
        }
        guard isDone != nil else { throw Self.occupied(.finalize) }
    }

    /// Whether no operation is to begin on the session of a pool. Asked under the lock under which the pool counts its
    /// sessions: whoever is not seen by the one who waits then sees this.
    var holdsOperations: Bool { holding.load(ordering: .sequentiallyConsistent) }

    /// Has what runs on a pool's sessions end before the library is initialised again.
    func register(_ pool: SessionPool) {
        pools.withLock { pools in
            pools.removeAll { $0.pool == nil }
            pools.append(WeakPool(pool: pool))
        }
    }

    /// Waits for operations that have begun, at most a second.
    ///
    /// A key that is being made is not lost because another token needs the module anew. What takes longer may be
    /// waiting for what is waiting here, or for a daemon that has gone.
    private func awaitOperations() {
        let patience = Deadline.after(.seconds(1))
        while pools.withLock({ $0.compactMap(\.pool) }).contains(where: \.isBusy), !patience.hasPassed { usleep(500) }
    }

    /// Makes one C call that belongs to no session, at a moment when the library is not being finalised.
    ///
    /// - Parameter deadline: Until when such a moment is waited for, as by `awaitGate(_:until:)`; for a second where it
    ///   has passed before.
    func call(
        _ function: PKCS11Function, until deadline: Deadline? = nil, _ body: () throws(PKCS11Error) -> CK_RV
    ) throws(PKCS11Error) {
        try checkFork()
        while !gate.enter() {
            let hasPassed = deadline?.hasPassed ?? false
            try awaitGate(function, until: hasPassed ? Deadline.after(.seconds(1)) : deadline)
        }
        defer { gate.leave() }
        try PKCS11Error.check(function, body())
    }

    /// How long it is waited for another thread that initialises the library anew, or has it look at a slot.
    ///
    /// SoftHSM waits for the locks of other processes there without a limit: for ever, where one of them was stopped.
    /// A reader that hangs is no better.
    static let patience = Duration.seconds(20)

    /// Waits while the library is being finalised and initialised, or the process forks; until `deadline`, or for
    /// ``patience``.
    ///
    /// - Throws: `ReturnValue.cantLock` where that took too long, `ReturnValue.functionCanceled` where the process ends.
    func awaitGate(_ function: PKCS11Function, until deadline: Deadline? = nil) throws(PKCS11Error) {
        try checkEnd()
        // Whoever shut the gate holds this lock until it is open again.
        guard lifecycle.withLock(until: deadline ?? .after(Self.patience), { _ in true }) == nil else { return }
        throw Self.occupied(function)
    }

    /// That another thread did not come back from initialising the module in time.
    static func occupied(_ function: PKCS11Function) -> PKCS11Error {
        PKCS11Error(
            function: function, returnValue: .cantLock,
            detail: "another thread is still initialising the module, which may wait for the lock of another process")
    }

    /// Whether the initialisation, and so the finalisation, is ours.
    private static func initialize(
        _ functions: FunctionList, of path: String, arguments: String?
    ) throws(PKCS11Error) -> Bool {
        let initialize = try unsafe functions.entry(functions.table.pointee.C_Initialize, .initialize)
        let returnValue: CK_RV
        if let arguments {
            returnValue = unsafe arguments.withCString { text in
                // NSS reads one field more than the standard structure has: it must find a zero there.
                var padded = unsafe (CK_C_INITIALIZE_ARGS(), UInt(0), UInt(0))
                unsafe padded.0.flags = CKF_OS_LOCKING_OK
                unsafe padded.0.pReserved = unsafe UnsafeMutableRawPointer(mutating: text)
                return PendingCalls.during(.initialize, of: path) { unsafe initialize(&padded) }
            }
        } else {
            // p11-kit puts its own arguments in the place of none: OS locking, and what its configuration says.
            returnValue = PendingCalls.during(.initialize, of: path) { initialize(nil) }
        }
        if returnValue == CKR_CRYPTOKI_ALREADY_INITIALIZED { return false }
        try PKCS11Error.check(.initialize, returnValue)
        return true
    }
}
