import Glibc
import KeyfobPrimitives
import Synchronization

/// Process exit.
///
/// exit(3) destroys the state of C++ libraries such as SoftHSM while other threads go on. Threads that are inside such
/// a library then crash.
extension Module {
    /// The gate of an initialised library, and the process that initialised it.
    private struct Entry {
        let gate: CallGate
        let process: pid_t

        /// The deadline of all handlers together; it starts with the first one.
        ///
        /// On a busy machine, threads that sign have not left SoftHSM after one second.
        private static let lastMoment = Deadline.after(.seconds(5))

        func end() {
            // Calls of the parent's threads never end in a child.
            guard process == getpid() else { return }
            // Do not take the lock that is held around `C_Initialize`: a library may hang in there, or call exit(3)
            // itself.
            gate.end()
            // A call that lasts longer is considered hung; a crash is better than a process that does not end.
            while !gate.isQuiet, !Self.lastMoment.hasPassed { usleep(500) }
        }
    }

    /// Gates rather than modules, because a module that is being finalised has no references any more.
    private static let entries = Lock<[Entry]>([])

    /// Makes exit(3) wait for the calls in progress, and makes later calls fail.
    func registerForExit() {
        let entry = Entry(gate: gate, process: process)
        Self.entries.withLock { $0.append(entry) }
        // Handlers run in reverse order of registration, so register again after each library is loaded.
        atexit { for entry in Module.entries.withLock({ $0 }) { entry.end() } }
    }

    /// Takes back `registerForExit()` when the library is finalised.
    func unregisterForExit() {
        Self.entries.withLock { entries in entries.removeAll { $0.gate === gate } }
    }

    /// Throws if the process is ending.
    ///
    /// - Throws: `ReturnValue.functionCanceled` of `PKCS11Function.finalize`.
    func checkEnd() throws(PKCS11Error) {
        guard gate.hasEnded else { return }
        throw PKCS11Error(function: .finalize, returnValue: .functionCanceled, detail: "the process is ending")
    }
}
