import Glibc
import KeyfobPrimitives
import Synchronization

/// What happens when the process ends: exit(3) destroys the state of C++ libraries such as SoftHSM while other threads
/// go on, and those that are inside of one then crash.
extension Module {
    private struct Weak {
        weak var module: Module?
    }

    private static let all = Lock<[Weak]>([])

    /// Has exit(3) wait for the calls under way. Later calls fail.
    func endWithProcess() {
        Self.all.withLock { all in
            all.removeAll { $0.module == nil }
            all.append(Weak(module: self))
        }
        // For each library again, after it was loaded: what is registered last is called first. And several times: of
        // two threads that call exit(3), each is given handlers of its own, and the library's behind ours.
        for _ in 0..<4 {
            atexit {
                Module.endAlone()
                for one in Module.all.withLock({ $0.compactMap(\.module) }) { one.end() }
            }
        }
    }

    /// Until when the end of the process waits, from the first handler on.
    private static let lastMoment = Deadline.after(.seconds(1))

    /// The process that is ending, and the thread that ends it; 0 for none. A child may be forked meanwhile.
    private static let endingProcess = Atomic<pid_t>(0)
    private static let endingThread = Atomic<UInt>(0)

    /// Lets one thread end the process, and any other that calls exit(3) meanwhile wait for that, as glibc does from
    /// 2.41 on: each would be given handlers of its own, and take libraries apart below the other's feet.
    private static func endAlone() {
        let thread = UInt(pthread_self())
        let former = endingProcess.load(ordering: .sequentiallyConsistent)
        if former != getpid(),
            endingProcess.compareExchange(
                expected: former, desired: getpid(), ordering: .sequentiallyConsistent
            ).exchanged
        {
            return endingThread.store(thread, ordering: .sequentiallyConsistent)
        }
        guard endingThread.load(ordering: .sequentiallyConsistent) != thread else { return }
        while true { sleep(3600) }
    }

    private func end() {
        // The calls of the parent's threads never end in a child.
        guard !isForked else { return }
        isEnding.store(true, ordering: .sequentiallyConsistent)
        // Without the lock that is held around C_Initialize: a library may hang in there, or end the process.
        gate.end()
        // What takes longer hangs, and a crash is better than a process that does not end.
        while !gate.isQuiet, !Self.lastMoment.hasPassed { usleep(500) }
    }

    /// Refuses to go on where the process ends. - Throws: `ReturnValue.functionCanceled`.
    func checkEnd() throws(PKCS11Error) {
        guard isEnding.load(ordering: .sequentiallyConsistent) else { return }
        throw PKCS11Error(function: .finalize, returnValue: .functionCanceled, detail: "the process is ending")
    }
}
