import CP11Kit
public import KeyfobPrimitives
import Synchronization

/// An open session with a token, closed when the value goes out of scope.
///
/// A session may move between threads but does one thing at a time: share tokens through `SessionPool`, not sessions. A
/// call while another thread's call is in progress on the session fails with `ReturnValue.operationActive`. It does not
/// reach the module, since some modules would corrupt memory. A login belongs to the token: it applies to all sessions
/// of this process with the token, and ends when the last of them is closed. All calls block the calling thread until
/// the token answers.
///
/// After `Module.reinitialize()` every call fails with `ReturnValue.sessionHandleInvalid`.
public struct Session: ~Copyable, Sendable {
    /// The slot of the token.
    public let slot: Slot

    let handle: CK_SESSION_HANDLE
    let functions: FunctionList
    private let generation: Int
    // Atomic because borrowing calls, on any thread, must be able to set it.
    private let broken = Atomic<Bool>(false)
    private let isOpen = Atomic<Bool>(true)
    private let inUse = Atomic<Bool>(false)

    /// Takes ownership of an open session.
    init(slot: Slot, handle: CK_SESSION_HANDLE, generation: Int) {
        self.slot = slot
        self.handle = handle
        self.functions = slot.functions
        self.generation = generation
    }

    deinit {
        // A deinitialiser cannot report a failure; `close()` does.
        do throws(PKCS11Error) { try closeIfOpen() } catch {}
    }

    /// Whether the session must be closed and not used again, because an operation was not completed, or the session or
    /// the device failed.
    public var isBroken: Bool { broken.load(ordering: .relaxed) }

    /// Closes the session and destroys its session objects, those that are not on the token.
    ///
    /// If another call of the module does not return, a thread closes the session later, so it may still be open on
    /// return.
    ///
    /// Corresponds to `C_CloseSession`.
    ///
    /// - Throws: `ReturnValue.sessionHandleInvalid` if the module had already closed the session, or `deviceError`.
    public consuming func close() throws(PKCS11Error) {
        try closeIfOpen()
    }

    /// Returns information about the session.
    ///
    /// Corresponds to `C_GetSessionInfo`.
    ///
    /// - Throws: `ReturnValue.sessionHandleInvalid`, `deviceError`.
    public func info() throws(PKCS11Error) -> SessionInfo {
        let getSessionInfo = try unsafe functions.entry(
            functions.table.pointee.C_GetSessionInfo, .getSessionInfo)
        var info = CK_SESSION_INFO()
        try call(.getSessionInfo) { unsafe getSessionInfo(handle, &info) }
        return SessionInfo(info)
    }

    /// Logs in to the token, for all sessions of this process with it.
    ///
    /// > Important: Cards lock after three wrong PINs. Never repeat a login that was refused, and check
    /// > `TokenFlags.userPINFinalTry` first.
    ///
    /// Corresponds to `C_Login`.
    ///
    /// - Parameter pin: The PIN; `nil` if the token reads it itself (`TokenFlags.protectedAuthenticationPath`).
    /// - Throws: `ReturnValue.pinIncorrect`, `pinLocked`, `pinLengthRange`, `userPINNotInitialized`;
    ///   `userAlreadyLoggedIn`, even for a wrong PIN, if the user is already logged in; `userAnotherAlreadyLoggedIn`.
    public func login(_ user: UserType = .user, pin: SecretBytes?) throws(PKCS11Error) {
        let login = try unsafe functions.entry(functions.table.pointee.C_Login, .login)
        func send() throws(PKCS11Error) {
            try call(.login, awaitsPerson: pin == nil) {
                guard let pin else { return login(handle, user.rawValue, nil, 0) }
                return unsafe pin.withUnsafeBytes { pin in
                    unsafe login(handle, user.rawValue, pin.mutableBytes, CK_ULONG(pin.count))
                }
            }
        }
        // A login for one use of a key leaves the login of the token as it is.
        guard user != .contextSpecific else { return try send() }
        try slot.module.changingLogin(in: slot.id, send)
    }

    /// Logs out, for all sessions of this process with the token. Handles of private objects become invalid.
    ///
    /// Corresponds to `C_Logout`.
    ///
    /// - Throws: `ReturnValue.userNotLoggedIn` if no user was logged in.
    public func logout() throws(PKCS11Error) {
        let logout = try unsafe functions.entry(functions.table.pointee.C_Logout, .logout)
        try slot.module.changingLogin(in: slot.id) { () throws(PKCS11Error) in
            try call(.logout) { logout(handle) }
        }
    }

    /// Sets the user's PIN, as the security officer.
    ///
    /// Corresponds to `C_InitPIN`.
    ///
    /// - Throws: `ReturnValue.userNotLoggedIn` unless the security officer is logged in; `pinInvalid` or
    ///   `pinLengthRange` if the token does not accept the PIN.
    public func initializePIN(_ pin: SecretBytes) throws(PKCS11Error) {
        let initializePIN = try unsafe functions.entry(functions.table.pointee.C_InitPIN, .initializePIN)
        try call(.initializePIN) {
            unsafe pin.withUnsafeBytes { pin in
                unsafe initializePIN(handle, pin.mutableBytes, CK_ULONG(pin.count))
            }
        }
    }

    /// Changes the PIN of the logged-in user; without a login, that of the normal user.
    ///
    /// Corresponds to `C_SetPIN`.
    ///
    /// - Throws: `ReturnValue.pinIncorrect` if `old` is wrong, which counts as a wrong login; `pinInvalid` or
    ///   `pinLengthRange` if the token does not accept `new`; `pinLocked`; `sessionReadOnly`.
    public func setPIN(old: SecretBytes, new: SecretBytes) throws(PKCS11Error) {
        let setPIN = try unsafe functions.entry(functions.table.pointee.C_SetPIN, .setPIN)
        try call(.setPIN) {
            unsafe old.withUnsafeBytes { old in
                unsafe new.withUnsafeBytes { new in
                    unsafe setPIN(
                        handle, old.mutableBytes, CK_ULONG(old.count), new.mutableBytes, CK_ULONG(new.count))
                }
            }
        }
    }
}

extension Session {
    /// Begins a sequence of C calls on the session; `end()` must follow. Sequences do not nest.
    @inline(__always)
    func begin(_ function: @autoclosure () -> PKCS11Function) throws(PKCS11Error) {
        // A single atomic exchange, which costs nothing noticeable without contention.
        guard !inUse.exchange(true, ordering: .acquiring) else {
            throw PKCS11Error(
                function: function(), returnValue: .operationActive, detail: "another thread is using the session")
        }
        if slot.module.gate.enter(generation: generation) { return }
        try awaitEntry(function())
    }

    /// Waits until the gate opens and enters it. If it throws, the session is no longer in use.
    private func awaitEntry(_ function: @autoclosure () -> PKCS11Function) throws(PKCS11Error) {
        do throws(PKCS11Error) {
            while slot.module.generation == generation {
                try slot.module.awaitGate(function())
                if slot.module.gate.enter(generation: generation) { return }
            }
        } catch {
            inUse.store(false, ordering: .releasing)
            throw error
        }
        inUse.store(false, ordering: .releasing)
        markBroken()
        throw PKCS11Error(
            function: function(), returnValue: .sessionHandleInvalid, detail: "the module was initialised again")
    }

    /// Ends a sequence of C calls.
    @inline(__always)
    func end() {
        slot.module.gate.leave()
        inUse.store(false, ordering: .releasing)
    }

    /// Throws unless the call succeeded, and marks the session as broken if the error requires it.
    @inline(__always)
    func check(_ function: @autoclosure () -> PKCS11Function, _ returnValue: CK_RV) throws(PKCS11Error) {
        CallTrace.note(function(), returnValue)
        if returnValue == CKR_OK { return }
        throw failure(function(), returnValue)
    }

    /// Returns the error of a failed call, and marks the session as broken if the error requires it.
    func failure(_ function: PKCS11Function, _ returnValue: CK_RV) -> PKCS11Error {
        let error = PKCS11Error(function: function, returnValue: ReturnValue(rawValue: returnValue))
        if error.returnValue.breaksSession { markBroken() }
        return error
    }

    /// Makes one C call.
    @inline(__always)
    func call(
        _ function: @autoclosure () -> PKCS11Function, awaitsPerson: Bool = false, _ body: () -> CK_RV
    ) throws(PKCS11Error) {
        try begin(function())
        defer { end() }
        try check(function(), pending(function(), awaitsPerson: awaitsPerson, body))
    }

    /// Makes one C call that lists the objects of the token or adds one; see `Module.inTurn`.
    func callInTurn(_ function: PKCS11Function, _ body: () -> CK_RV) throws(PKCS11Error) {
        try begin(function)
        defer { end() }
        try check(function, slot.module.inTurn(function, body))
    }

    /// Makes one C call, noted as pending meanwhile, within a run of them.
    @inline(__always)
    func pending(
        _ function: @autoclosure () -> PKCS11Function, awaitsPerson: Bool = false, _ body: () -> CK_RV
    ) -> CK_RV {
        slot.module.pending(function(), awaitsPerson: awaitsPerson, body)
    }

    /// Marks the session as one to be closed.
    func markBroken() {
        broken.store(true, ordering: .relaxed)
    }

    private func closeIfOpen() throws(PKCS11Error) {
        guard isOpen.exchange(false, ordering: .relaxed) else { return }
        try slot.module.close(handle, of: generation)
    }
}
