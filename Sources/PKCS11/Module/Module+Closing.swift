import CP11Kit
import KeyfobPrimitives
import Synchronization

/// Closing sessions, for which nobody is to wait as long as a call of the module may last.
extension Module {
    /// Closes a session of a generation of the module; nothing where that generation is over.
    ///
    /// Waits for two seconds while another call does not return, and not at all while others wait for one already: a
    /// thread then closes the session as soon as it can, and nobody hears of a failure.
    ///
    /// Corresponds to `C_CloseSession`.
    ///
    /// - Throws: What the module answered, as `ReturnValue.sessionHandleInvalid`; `cantLock` where the library is being
    ///   finalised, and the session ends with that.
    func close(_ session: CK_SESSION_HANDLE, of generation: Int) throws(PKCS11Error) {
        // A fork's copy of the session is the parent's to close.
        guard !isForked else { return }
        let closeSession = try unsafe functions.entry(functions.table.pointee.C_CloseSession, .closeSession)
        // In a later generation the number may belong to a session of somebody else.
        while !gate.enter(generation: generation) {
            guard self.generation == generation else { return }
            // Its session ends in any case with what the gate is shut for.
            try awaitGate(.closeSession, until: .after(.seconds(1)))
        }
        // A pool may close many at once, each of which would wait for the same call.
        let patience: Duration = lateClosings.load(ordering: .relaxed) > 0 ? .zero : .seconds(2)
        let returnValue = slotLock.withLock(until: .after(patience)) { _ in
            PendingCalls.during(.closeSession, of: path) { closeSession(session) }
        }
        guard let returnValue else { return closeLate(session) }
        gate.leave()
        try PKCS11Error.check(.closeSession, returnValue)
    }

    /// Has a thread close a session when no other call of the module keeps it from that.
    ///
    /// Not one of the shared executor's four, for which other keychains would have to wait. The caller's place in the
    /// gate becomes the thread's, so that the number stays this session's until then.
    private func closeLate(_ session: CK_SESSION_HANDLE) {
        lateClosings.add(1, ordering: .relaxed)
        let isStarted = POSIXThread.startDetached("keyfob-close") { [self] in
            if let closeSession = unsafe functions.table.pointee.C_CloseSession {
                let returnValue = slotLock.withLock { _ in
                    PendingCalls.during(.closeSession, of: path) { closeSession(session) }
                }
                CallTrace.note(.closeSession, returnValue)
            }
            endLateClosing()
        }
        // Where the system has no more threads the session stays open, and ends with the module.
        if !isStarted { endLateClosing() }
    }

    private func endLateClosing() {
        gate.leave()
        lateClosings.subtract(1, ordering: .relaxed)
    }
}
