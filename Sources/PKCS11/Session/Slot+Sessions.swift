import CP11Kit
import KeyfobPrimitives

extension Slot {
    /// Opens a session with the token.
    ///
    /// The session is logged in from the start if another session of this process with the token is.
    ///
    /// Corresponds to `C_OpenSession`.
    ///
    /// - Parameter readWrite: Whether objects on the token may be changed. A security officer can log in only while no
    ///   read-only session is open.
    /// - Throws: `ReturnValue.sessionCount` if the token has no room for another session, `tokenNotPresent`,
    ///   `slotIDInvalid`, or `deviceError`.
    public func openSession(readWrite: Bool = true) throws(PKCS11Error) -> Session {
        try openSession(readWrite: readWrite, until: nil)
    }

    /// Opens a session with the token, with a deadline as in `Module.callForSlots`.
    func openSession(readWrite: Bool, until deadline: Deadline?) throws(PKCS11Error) -> Session {
        let openSession = try unsafe functions.entry(functions.table.pointee.C_OpenSession, .openSession)
        let flags = CKF_SERIAL_SESSION | (readWrite ? CKF_RW_SESSION : 0)
        var handle = CK_SESSION_HANDLE()
        var generation = 0
        try module.callForSlots(.openSession, until: deadline) {
            generation = module.generation
            return unsafe openSession(id, flags, nil, nil, &handle)
        }
        return Session(slot: self, handle: handle, generation: generation)
    }
}
