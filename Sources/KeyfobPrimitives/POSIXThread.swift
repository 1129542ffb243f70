import CLinux
import Foundation

/// Creates threads.
///
/// Foundation's `Thread` is not used for three reasons. Before its first thread it makes glibc look up the main
/// thread's stack in `/proc/self/maps`, which is noticeable in a command that reads one secret. It ends the process if
/// the system has no more threads. Its threads cannot be joined.
public enum POSIXThread {
    private final class Work: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(_ name: String, _ body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    /// Runs `body` on a new detached thread, and returns at once.
    ///
    /// Corresponds to pthread_create(3) and pthread_detach(3).
    ///
    /// - Parameter name: The name that debuggers and ps(1) show: the first 15 bytes.
    /// - Returns: `false` if the system has no more threads; `body` is not called then.
    public static func startDetached(_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        // Discarding the `Joinable` detaches the thread.
        start(name, body) != nil
    }

    /// Runs `body` on a new thread that can be joined, and returns at once.
    ///
    /// Corresponds to pthread_create(3), with pthread_attr_setaffinity_np(3) for the start of the thread.
    ///
    /// - Parameters:
    ///   - name: The name that debuggers and ps(1) show: the first 15 bytes.
    ///   - elsewhere: Whether the thread starts on another core than the caller's. Otherwise the kernel may put it on
    ///     the same core, where it waits until the caller waits: two milliseconds.
    /// - Returns: The thread, or `nil` if the system has no more threads; `body` is not called then.
    public static func start(
        _ name: String, elsewhere: Bool = false, _ body: @escaping @Sendable () -> Void
    ) -> Joinable? {
        create(name, elsewhere: elsewhere, body).map(Joinable.init)
    }

    /// A thread that can be joined.
    public final class Joinable: Sendable {
        private enum State {
            case running(pthread_t)
            /// A thread is waiting in pthread_join(3).
            case joining
            case ended
        }

        private let state: Lock<State>
        fileprivate init(_ thread: pthread_t) { state = Lock(.running(thread)) }

        /// Blocks until the thread has ended and released all that it held, without a timeout.
        ///
        /// Any number of threads may call it, except the thread itself. Corresponds to pthread_join(3).
        public func join() {
            let thread = state.withLock { state -> pthread_t? in
                guard case .running(let thread) = state else { return nil }
                state = .joining
                return thread
            }
            guard let thread else {
                state.wait(until: .never) { if case .ended = $0 { () } else { nil } }
                return
            }
            // Join outside the lock, for which other callers wait.
            pthread_join(thread, nil)
            state.withLock { $0 = .ended }
            state.broadcast()
        }

        deinit {
            // A thread that was not joined goes on by itself.
            guard case .running(let thread) = state.withLock({ $0 }) else { return }
            pthread_detach(thread)
        }
    }

    private static func create(
        _ name: String, elsewhere: Bool, _ body: @escaping @Sendable () -> Void
    ) -> pthread_t? {
        let work = unsafe Unmanaged.passRetained(Work(name, body))
        var thread = pthread_t()
        let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
            guard let context = unsafe context else { return nil }
            let work = unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue()
            unsafe keyfob_set_thread_name(work.name)
            work.body()
            return nil
        }
        let result =
            unsafe elsewhere
            ? keyfob_create_thread_elsewhere(&thread, run, work.toOpaque())
            : pthread_create(&thread, nil, run, work.toOpaque())
        guard result == 0 else {
            unsafe work.release()
            return nil
        }
        return thread
    }
}
