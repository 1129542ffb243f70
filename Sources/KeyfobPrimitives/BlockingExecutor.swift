import Foundation

/// Threads of our own for calls that block.
///
/// Cryptoki, SQLite and `scrypt` block for as long as they please. On the cooperative pool, or on an
/// event loop, that stops unrelated tasks; here it stops only other blocking calls. Threads are made
/// on demand up to `width`, and end after ten seconds without work. A child made by fork(2) makes its own.
public final class BlockingExecutor: Sendable {
    private struct State {
        var work: [@Sendable () -> Void] = []
        var threads = 0
        var idle = 0
        /// Whose threads they are.
        var process = getpid()
        /// What waited in the parent when it forked, which does it; kept, for who waits for it is the parent's, too.
        var inherited: [@Sendable () -> Void] = []

        /// Forgets the parent's threads in a child, which has none of them.
        mutating func adoptFork() {
            guard process != getpid() else { return }
            self = State(process: getpid(), inherited: inherited + work)
        }
    }

    private let state = Lock(State())
    private let width: Int

    /// The executor that the library uses unless it is given another: four threads at the most.
    public static let shared = BlockingExecutor(width: 4)

    /// For what waits for others for seconds to minutes, such as issuers of certificates: sixteen threads at the most,
    /// none of which anybody needs for what is done in a moment.
    package static let patient = BlockingExecutor(width: 16)

    /// Makes an executor of at most `width` threads. None is started before there is work.
    public init(width: Int) {
        self.width = max(1, width)
    }

    /// Runs `body` on one of the threads and returns what it returns.
    ///
    /// Work that has not started when the task is cancelled still runs: a Cryptoki call must not be
    /// left out half-way. - Throws: what `body` throws.
    public func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            enqueue { continuation.resume(with: Swift.Result { try body() }) }
        }
    }

    /// Runs `work` on one of the threads and returns at once, for callers that wait in a way of their own, such as a
    /// promise.
    ///
    /// Does not block for longer than it takes to put `work` into the queue, or to start a thread.
    public func start(_ work: @escaping @Sendable () -> Void) {
        enqueue(work)
    }

    private func enqueue(_ work: @escaping @Sendable () -> Void) {
        let needsThread = state.withLock { state -> Bool in
            state.adoptFork()
            state.work.append(work)
            guard state.work.count > state.idle, state.threads < width else { return false }
            state.threads += 1
            return true
        }
        // One piece of work wants one thread: waking all of them costs more than most signatures.
        state.signal()
        guard needsThread else { return }
        guard !POSIXThread.startDetached("keyfob-blocking", { [self] in loop() }) else { return }
        // Where the system has no more threads, those that there are do it; and where there are none, the caller's own,
        // for it would never be done otherwise.
        let left = state.withLock { state -> (@Sendable () -> Void)? in
            state.threads -= 1
            return state.threads == 0 && !state.work.isEmpty ? state.work.removeFirst() : nil
        }
        left?()
    }

    private func loop() {
        while let work = next() { work() }
    }

    /// The next piece of work, or `nil` when the thread should end.
    private func next() -> (@Sendable () -> Void)? {
        state.withLock { $0.idle += 1 }
        let work = state.wait(until: .after(.seconds(10))) { state -> (@Sendable () -> Void)? in
            guard !state.work.isEmpty else { return nil }
            return state.work.removeFirst()
        }
        // Between the end of the wait and this line new work may have arrived and counted on this
        // thread: it may go only when the queue is empty.
        return state.withLock { state -> (@Sendable () -> Void)? in
            state.idle -= 1
            if let work { return work }
            if !state.work.isEmpty { return state.work.removeFirst() }
            state.threads -= 1
            return nil
        }
    }
}
