import Foundation

/// Threads of our own for calls that block.
///
/// Cryptoki, SQLite and `scrypt` block for as long as they please. On the cooperative pool, or on an
/// event loop, that stops unrelated tasks; here it stops only other blocking calls. Threads are made
/// on demand up to `width`, and end after ten seconds without work. A child made by fork(2) makes its own.
///
/// A token that never answers keeps the threads that have called it. Where work waits and none of the threads has
/// begun any for a second, there is one more, and so each second, up to 64 of them: that much may hang before what has
/// nothing to do with it hangs, too.
public final class BlockingExecutor: Sendable {
    private struct State {
        var work: [@Sendable () -> Void] = []
        var threads = 0
        var idle = 0
        /// How much work was begun so far.
        var begun = 0
        /// Whether a thread looks after what waits.
        var isWatched = false
        /// Whose threads they are.
        var process = getpid()
        /// What waited in the parent when it forked, which does it; kept, for who waits for it is the parent's, too.
        var inherited: [@Sendable () -> Void] = []

        /// Forgets the parent's threads in a child, which has none of them.
        mutating func adoptFork() {
            guard process != getpid() else { return }
            self = State(process: getpid(), inherited: inherited + work)
        }

        /// Whether there is more work than the idle threads are about to take.
        var isShort: Bool { work.count > idle }

        /// Takes the oldest piece of work, to begin it; `nil` where there is none.
        mutating func take() -> (@Sendable () -> Void)? {
            guard !work.isEmpty else { return nil }
            begun &+= 1
            return work.removeFirst()
        }
    }

    /// What new work wants to have started.
    private enum Want {
        case nothing, thread, watcher
    }

    private let state = Lock(State())
    private let width: Int
    /// How many threads there are at the most where others hang.
    private let limit: Int

    /// How often whoever watches looks, in microseconds.
    private static let interval: UInt32 = 250_000
    /// How often in a row it sees that nothing was begun before there is one more thread. Looks are counted, and no
    /// time is measured: a process that was stopped for a while does not hang.
    private static let patience = 4

    /// The executor that the library uses unless it is given another: four threads, and more only where those hang.
    public static let shared = BlockingExecutor(width: 4)

    /// For what waits for others for seconds to minutes, such as issuers of certificates: sixteen threads, none of
    /// which anybody needs for what is done in a moment, and more where all of them wait for more than a second. They
    /// use tokens, too, and one that hangs must not be the end of all issuing.
    package static let patient = BlockingExecutor(width: 16)

    /// Makes an executor of `width` threads, and of up to 64 where those begin nothing for a second while work waits.
    /// None is started before there is work.
    public init(width: Int) {
        self.width = max(1, width)
        limit = max(64, width)
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
        let want = state.withLock { state -> Want in
            state.adoptFork()
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
        // One piece of work wants one thread: waking all of them costs more than most signatures.
        state.signal()
        switch want {
        case .nothing:
            break
        case .thread:
            guard !startThread() else { return }
            // Where the system has no more threads, those that there are do it; and where there are none, the caller's
            // own, for it would never be done otherwise.
            state.withLock { $0.threads -= 1 }
            // All that is left: another caller may have counted on this one's thread, and this one on his.
            while let left = state.withLock({ $0.threads == 0 ? $0.take() : nil }) { left() }
        case .watcher:
            guard !POSIXThread.startDetached("keyfob-watching", { [self] in watch() }) else { return }
            // The next one to find all threads busy tries again.
            state.withLock { $0.isWatched = false }
        }
    }

    /// Starts a thread that is counted already; `false` where the system has no more.
    private func startThread() -> Bool {
        POSIXThread.startDetached("keyfob-blocking") { [self] in loop() }
    }

    /// What one more thread does for as long as work waits: it starts another where none of those that there are begins
    /// anything. Whoever adds work does not look at the clock for that, and there may be nobody who adds any more.
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
                guard looks >= Self.patience, state.threads < limit else { return false }
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

    /// The next piece of work, or `nil` when the thread should end.
    private func next() -> (@Sendable () -> Void)? {
        // One of the further threads, which are wanted no more where so many have nothing to do.
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
            // With the taking: whoever adds work in between would count on a thread that has something to do.
            if isIdle { state.idle -= 1 }
            return taken
        }
        if let work { return work }
        // Between the end of the wait and this line new work may have arrived and counted on this
        // thread: it may go only when the queue is empty.
        return state.withLock { state -> (@Sendable () -> Void)? in
            state.idle -= 1
            if let work = state.take() { return work }
            state.threads -= 1
            return nil
        }
    }
}
