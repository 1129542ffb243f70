import CLinux
import Foundation

/// Threads of our own, which nobody joins.
///
/// Not Foundation's: before its first one it has glibc look for the stack of the main thread in `/proc/self/maps`,
/// which a command that reads one secret would notice; and where there are no more threads it ends the process.
public enum DetachedThread {
    private final class Work: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(_ name: String, _ body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    /// Runs `body` on a new thread, and returns at once.
    ///
    /// - Parameter name: What debuggers and ps(1) show of the thread: the first 15 bytes.
    /// - Returns: `false` where the system has no more threads to give; `body` is not called then.
    ///
    /// Stands for pthread_create(3).
    public static func start(_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
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
            return false
        }
        pthread_detach(thread)
        return true
    }
}
