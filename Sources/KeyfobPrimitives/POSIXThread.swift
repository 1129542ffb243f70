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
        // What nobody keeps to wait for is detached.
        start(name, body) != nil
    }

    /// Runs `body` on a new thread, and returns at once what to wait for.
    ///
    /// - Parameters:
    ///   - name: What debuggers and ps(1) show of the thread: the first 15 bytes.
    ///   - elsewhere: Whether it begins on another core than the caller's. The kernel is not above putting it there, to
    ///     wait until the caller waits: two milliseconds, of which somebody may have nothing to lose.
    /// - Returns: `nil` where the system has no more threads to give; `body` is not called then.
    ///
    /// Stands for pthread_create(3), with pthread_attr_setaffinity_np(3) for the moment of its beginning.
    public static func start(
        _ name: String, elsewhere: Bool = false, _ body: @escaping @Sendable () -> Void
    ) -> Joinable? {
        create(name, elsewhere: elsewhere, body).map(Joinable.init)
    }

    /// A thread whose end somebody waits for.
    public final class Joinable: Sendable {
        private enum State {
            case running(pthread_t)
            /// Somebody is waiting for the system to say that it has ended.
            case joining
            case ended
        }

        private let state: Lock<State>
        private let process = getpid()

        fileprivate init(_ thread: pthread_t) { state = Lock(.running(thread)) }

        /// Blocks until the thread has ended and has released all that it held; without a limit of its own.
        ///
        /// Any thread but that one may call it, and any number of them. Returns at once in a child made by fork(2),
        /// which has no such thread. Stands for pthread_join(3).
        public func join() {
            guard getpid() == process else { return }
            let thread = state.withLock { state -> pthread_t? in
                guard case .running(let thread) = state else { return nil }
                state = .joining
                return thread
            }
            guard let thread else {
                state.wait(until: .never) { if case .ended = $0 { () } else { nil } }
                return
            }
            // Outside of the lock, which a fork has to wait for.
            pthread_join(thread, nil)
            state.withLock { $0 = .ended }
            state.broadcast()
        }

        deinit {
            // One that nobody joined goes on by itself.
            guard getpid() == process, case .running(let thread) = state.withLock({ $0 }) else { return }
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
