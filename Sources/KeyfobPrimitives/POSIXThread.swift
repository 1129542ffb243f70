import CLinux
import Foundation

/// Threads of our own.
///
/// Not Foundation's: before its first one it has glibc look for the stack of the main thread in `/proc/self/maps`,
/// which a command that reads one secret would notice; where there are no more threads it ends the process; and
/// nobody can join one.
public enum POSIXThread {
    private final class Work: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(_ name: String, _ body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    /// Runs `body` on a new thread that nobody joins, and returns at once.
    ///
    /// - Parameter name: What debuggers and ps(1) show of the thread: the first 15 bytes.
    /// - Returns: `false` where the system has no more threads to give; `body` is not called then.
    ///
    /// Stands for pthread_create(3) and pthread_detach(3).
    public static func startDetached(_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        guard let thread = create(name, body) else { return false }
        pthread_detach(thread)
        return true
    }

    /// Runs `work` on a new thread and `meanwhile` on this one, and returns what `work` returned.
    ///
    /// Blocks until both have ended, without a limit of its own; what `work` held is released by then: a thread
    /// that closes the last session of a module while the process exits does so in a module that is no more. Where there
    /// are no more threads to have, one runs after the other.
    ///
    /// - Throws: What `work` throws.
    public static func run<Value: Sendable, Failure>(
        _ name: String, _ work: @escaping @Sendable () throws(Failure) -> Value, meanwhile: () -> Void
    ) throws(Failure) -> Value {
        let outcome = Lock(Result<Value, Failure>?.none)
        let thread = create(name) {
            let result = Result(catching: work)
            outcome.withLock { $0 = result }
        }
        meanwhile()
        if let thread { pthread_join(thread, nil) }
        guard let result = outcome.withLock({ $0 }) else { return try work() }
        return try result.get()
    }

    private static func create(_ name: String, _ body: @escaping @Sendable () -> Void) -> pthread_t? {
        let work = unsafe Unmanaged.passRetained(Work(name, body))
        var thread = pthread_t()
        let result = unsafe pthread_create(
            &thread, nil,
            { context in
                guard let context = unsafe context else { return nil }
                let work = unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue()
                unsafe keyfob_set_thread_name(work.name)
                work.body()
                return nil
            }, unsafe work.toOpaque())
        guard result == 0 else {
            unsafe work.release()
            return nil
        }
        return thread
    }
}
