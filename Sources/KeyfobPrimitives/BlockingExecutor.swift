import Foundation

/// Runs blocking calls on threads of its own.
///
/// Cryptoki, SQLite and `scrypt` block without a limit. On the cooperative pool or an event loop that would stop
/// unrelated tasks; here it stops only other blocking calls. Threads are created on demand up to `width`, and end after
/// ten seconds without work.
///
/// A token that never answers keeps the threads that have called it. If work waits and no thread has begun any for a
/// second, one more thread is started, and again each second, up to 64 in all. So unrelated work hangs only after that
/// many calls hang.
public final class BlockingExecutor: Sendable {
    private struct State {
        var work: [@Sendable () -> Void] = []
        var threads = 0
        var idle = 0
        /// The number of work items begun so far.
        var begun = 0
        /// Whether a watching thread exists.
        var isWatched = false
        /// Whether there is more work than idle threads.
        var isShort: Bool { work.count > idle }

        /// Takes the oldest work item in order to begin it; `nil` if there is none.
        mutating func take() -> (@Sendable () -> Void)? {
            guard !work.isEmpty else { return nil }
            begun &+= 1
            return work.removeFirst()
        }
    }

    /// The kind of thread to start for new work.
    private enum Want {
        case nothing, thread, watcher
    }

    private let state = Lock(State())
    private let width: Int
    /// The maximum number of threads while others hang.
    private let limit: Int

    /// The time between two looks of the watching thread, in microseconds.
    private static let interval: UInt32 = 250_000
    /// The number of consecutive looks without any work begun before one more thread is started. Looks are counted
    /// rather than time measured, because a process that was stopped for a while does not hang.
    private static let looksBeforeThread = 4

    /// The library's default executor: four threads, and more only while those hang.
    public static let shared = BlockingExecutor(width: 4)

    /// An executor for work that waits for seconds to minutes, such as for issuers of certificates.
    ///
    /// It has sixteen threads, none of which short calls need, and more while all of them wait for more than a second.
    /// Issuing uses tokens too, and one token that hangs must not stop all issuing.
    package static let patient = BlockingExecutor(width: 16)

    /// Creates an executor of `width` threads, and of up to 64 while work waits and none is begun for a second.
    ///
    /// No thread is started before there is work.
    public init(width: Int) {
        self.width = max(1, width)
        limit = max(64, width)
    }

    /// Runs `body` on one of the threads and returns its result.
    ///
    /// Work that has not started when the task is cancelled still runs, because a sequence of Cryptoki calls must not
    /// be left incomplete.
    ///
    /// - Throws: The errors of `body`.
    public func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            enqueue { continuation.resume(with: Swift.Result { try body() }) }
        }
    }

    /// Runs `work` on one of the threads and returns at once, for callers that wait in their own way, such as with a
    /// promise.
    ///
    /// Blocks only for as long as it takes to queue `work` or to start a thread.
    public func start(_ work: @escaping @Sendable () -> Void) {
        enqueue(work)
    }

    private func enqueue(_ work: @escaping @Sendable () -> Void) {
        let want = state.withLock { state -> Want in
            state.work.append(work)
            guard state.isShort else { return .nothing }
            if state.threads < width {
                state.threads += 1
                return .thread
            }
            guard !state.isWatched else { return .nothing }
            state.isWatched = true
            return .watcher
        }
        // One work item needs one thread: waking all of them costs more than most signatures.
        state.signal()
        switch want {
        case .nothing:
            break
        case .thread:
            guard !startThread() else { return }
            // If the system has no more threads, the existing ones do the work. If there are none, the caller's thread
            // does, since otherwise the work would never be done.
            state.withLock { $0.threads -= 1 }
            // Do all that is queued: two callers may have counted on each other's thread.
            while let left = state.withLock({ $0.threads == 0 ? $0.take() : nil }) { left() }
        case .watcher:
            guard !POSIXThread.startDetached("keyfob-watching", { [self] in watch() }) else { return }
            // The next caller that finds all threads busy tries again.
            state.withLock { $0.isWatched = false }
        }
    }

    /// Starts a thread that has already been counted; returns `false` if the system has no more.
    private func startThread() -> Bool {
        POSIXThread.startDetached("keyfob-blocking") { [self] in loop() }
    }

    /// Runs on the watching thread while work waits: starts another thread when the existing ones begin nothing.
    ///
    /// Callers that add work do not check the time, and there may be no further caller.
    private func watch() {
        var (begun, looks) = (-1, 0)
        while true {
            usleep(Self.interval)
            let isWanted = state.withLock { state -> Bool? in
                guard !state.work.isEmpty else {
                    state.isWatched = false
                    return nil
                }
                looks = state.isShort && state.begun == begun ? looks + 1 : 0
                begun = state.begun
                guard looks >= Self.looksBeforeThread, state.threads < limit else { return false }
                looks = 0
                state.threads += 1
                return true
            }
            guard let isWanted else { return }
            if isWanted, !startThread() { state.withLock { $0.threads -= 1 } }
        }
    }

    private func loop() {
        while let work = next() { work() }
    }

    /// The next work item, or `nil` if the thread should end.
    private func next() -> (@Sendable () -> Void)? {
        // A thread beyond `width` ends when that many threads are idle.
        let isSpare = state.withLock { state -> Bool in
            guard state.work.isEmpty, state.idle >= width else { return false }
            state.threads -= 1
            return true
        }
        guard !isSpare else { return nil }
        var isIdle = false
        let work = state.wait(until: .after(.seconds(10))) { state -> (@Sendable () -> Void)? in
            guard let taken = state.take() else {
                if !isIdle { state.idle += 1 }
                isIdle = true
                return nil
            }
            // Decrement together with taking the work: otherwise a caller that adds work in between would count on this
            // thread.
            if isIdle { state.idle -= 1 }
            return taken
        }
        if let work { return work }
        // Between the end of the wait and this line, new work may have arrived and counted on this thread. So the
        // thread ends only if the queue is empty.
        return state.withLock { state -> (@Sendable () -> Void)? in
            state.idle -= 1
            if let work = state.take() { return work }
            state.threads -= 1
            return nil
        }
    }
}
