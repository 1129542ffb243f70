import Glibc
import KeyfobPrimitives
import Synchronization

/// Process exit.
///
/// exit(3) destroys the state of C++ libraries such as SoftHSM while other threads go on. Threads that are inside such
/// a library then crash.
extension Module {
    private struct Weak {
        weak var module: Module?
    }

    private static let all = Lock<[Weak]>([])

    /// Makes exit(3) wait for the calls in progress, and makes later calls fail.
    func endWithProcess() {
        Self.all.withLock { all in
            all.removeAll { $0.module == nil }
            all.append(Weak(module: self))
        }
        // Handlers run in reverse order of registration, so register again after each library is loaded.
        atexit { for one in Module.all.withLock({ $0.compactMap(\.module) }) { one.end() } }
    }

    /// The deadline of all handlers together; it starts with the first one.
    ///
    /// On a busy machine, threads that sign have not left SoftHSM after one second.
    private static let lastMoment = Deadline.after(.seconds(5))

    private func end() {
        // Calls of the parent's threads never end in a child.
        guard !isForked else { return }
        isEnding.store(true, ordering: .sequentiallyConsistent)
        // Do not take the lock that is held around `C_Initialize`: a library may hang in there, or call exit(3) itself.
        gate.end()
        // A call that lasts longer is considered hung; a crash is better than a process that does not end.
        while !gate.isQuiet, !Self.lastMoment.hasPassed { usleep(500) }
    }

    /// Throws if the process is ending.
    ///
    /// - Throws: `ReturnValue.functionCanceled` of `PKCS11Function.finalize`.
    func checkEnd() throws(PKCS11Error) {
        guard isEnding.load(ordering: .sequentiallyConsistent) else { return }
        throw PKCS11Error(function: .finalize, returnValue: .functionCanceled, detail: "the process is ending")
    }
}
