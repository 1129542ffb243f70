import CP11Kit
import KeyfobPrimitives
import Synchronization

/// Closes sessions without blocking the caller for as long as a call of the module may last.
extension Module {
    /// Closes a session that was opened in `generation`; does nothing if that generation is over.
    ///
    /// Waits at most two seconds for another call, and not at all if other closings are already waiting. After that a
    /// detached thread closes the session as soon as it can, and its result is dropped.
    ///
    /// Corresponds to `C_CloseSession`.
    ///
    /// - Throws: The module's answer, such as `ReturnValue.sessionHandleInvalid`; `cantLock` if the library is being
    ///   finalised, which ends the session too.
    func close(_ session: CK_SESSION_HANDLE, of generation: Int) throws(PKCS11Error) {
        // In a forked child the session belongs to the parent.
        guard !isForked else { return }
        let closeSession = try unsafe functions.entry(functions.table.pointee.C_CloseSession, .closeSession)
        // In a later generation the same handle may belong to another session.
        while !gate.enter(generation: generation) {
            guard self.generation == generation else { return }
            // Finalisation, for which the gate is shut, ends the session anyway.
            try awaitGate(.closeSession, until: .after(.seconds(1)))
        }
        // A pool may close many sessions at once, and each would wait for the same call.
        let patience: Duration = lateClosings.load(ordering: .relaxed) > 0 ? .zero : .seconds(2)
        let returnValue = slotLock.withLock(until: .after(patience)) { _ in
            pending(.closeSession) { closeSession(session) }
        }
        guard let returnValue else { return closeLate(session) }
        gate.leave()
        try PKCS11Error.check(.closeSession, returnValue)
    }

    /// Starts a thread that closes a session once no other call of the module is in progress.
    ///
    /// It does not use one of the shared executor's four threads, since other keychains would have to wait for it. The
    /// thread takes over the caller's place in the gate, so the handle stays valid until then.
    private func closeLate(_ session: CK_SESSION_HANDLE) {
        lateClosings.add(1, ordering: .relaxed)
        let isStarted = POSIXThread.startDetached("keyfob-close") { [self] in
            if let closeSession = unsafe functions.table.pointee.C_CloseSession {
                let returnValue = slotLock.withLock { _ in
                    pending(.closeSession) { closeSession(session) }
                }
                CallTrace.note(.closeSession, returnValue)
            }
            endLateClosing()
        }
        // If the system has no more threads, the session stays open until the module is finalised.
        if !isStarted { endLateClosing() }
    }

    private func endLateClosing() {
        gate.leave()
        lateClosings.subtract(1, ordering: .relaxed)
    }
}
