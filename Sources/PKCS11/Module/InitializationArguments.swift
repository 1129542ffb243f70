import CP11Kit
import Glibc

/// The arguments of `C_Initialize`, with which any thread may call the library at any time.
///
/// They offer the mutexes of the operating system and those of `ModuleMutex`; a library may use either.
///
/// OpenSC uses the structure until `C_Finalize`, and threads that are stuck in a library even longer. So its memory is
/// never released: a few hundred bytes for each module.
@safe struct InitializationArguments: Sendable {
    /// The standard structure. NSS reads one field more, and must find a zero there.
    private typealias Padded = (standard: CK_C_INITIALIZE_ARGS, first: UInt, second: UInt)

    /// What the library got in `pReserved`.
    let reserved: String?
    // Nothing changes it after its initialisation.
    nonisolated(unsafe) let pointer: UnsafeMutableRawPointer

    /// Makes the arguments.
    ///
    /// - Parameter reserved: What the library expects in `pReserved`, such as NSS' parameters.
    init(reserved: String?) {
        self.reserved = reserved
        let padded = UnsafeMutablePointer<Padded>.allocate(capacity: 1)
        unsafe padded.initialize(to: (CK_C_INITIALIZE_ARGS(), 0, 0))
        unsafe padded.pointee.standard.flags = CKF_OS_LOCKING_OK
        unsafe padded.pointee.standard.CreateMutex = { unsafe ModuleMutex.create($0) }
        unsafe padded.pointee.standard.DestroyMutex = { unsafe ModuleMutex.destroy($0) }
        unsafe padded.pointee.standard.LockMutex = { unsafe ModuleMutex.lock($0) }
        unsafe padded.pointee.standard.UnlockMutex = { unsafe ModuleMutex.unlock($0) }
        if let reserved { unsafe padded.pointee.standard.pReserved = unsafe UnsafeMutableRawPointer(strdup(reserved)) }
        unsafe pointer = UnsafeMutableRawPointer(padded)
    }
}
