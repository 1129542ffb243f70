import Foundation
package import KeyfobPrimitives
package import PKCS11

/// Reports an error to the caller if a call of the token's module does not return.
///
/// The call itself cannot be cancelled: its thread is abandoned, and ends when the module returns.
package enum ModuleWatch {
    private struct Entry: Sendable {
        /// Different for each work item of the process.
        let number: UInt64
        let limit: Duration
        /// Gives the caller the error; `nil` after that.
        var fail: (@Sendable (PendingCall) -> Void)?
    }

    private struct State {
        var last: UInt64 = 0
        /// The work that has not ended, by its thread.
        var entries: [UInt: Entry] = [:]
        /// The process whose thread watches the calls; 0 for none.
        var watcher: pid_t = 0
    }

    private static let state = Lock(State())
    private static let interval = Duration.milliseconds(100)
    /// Threads for blocking callers. Each caller waits for one, so there are no more than callers.
    private static let blocking = BlockingExecutor(width: 64)
    /// The process that has these threads. A forked child has none of them.
    private static let process = getpid()

    /// Runs `body` on a thread of `executor`.
    ///
    /// - Parameters:
    ///   - executor: Provides the thread.
    ///   - limit: The maximum duration of a single call of a module; at least ten minutes for calls that generate keys.
    ///   - body: The work.
    /// - Returns: The result of `body`.
    /// - Throws: Errors of `body`; `KeychainError` with code `timedOut` if a call of a module has exceeded `limit`.
    package static func run<Output: Sendable>(
        on executor: BlockingExecutor = .shared, limit: Duration, _ body: @escaping @Sendable () throws -> Output
    ) async throws -> Output {
        let work = Lock(Optional(body))
        return try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Output, any Error>) in
            let waiting = Lock(Optional(continuation))
            let resume = { @Sendable (result: Result<Output, any Error>) in waiting.take()?.resume(with: result) }
            executor.start {
                guard let result = perform(work, limit: limit, onHang: { resume(.failure($0)) }) else { return }
                resume(result)
            }
        }
    }

    /// Runs `body` on a thread of Keyfob while the caller's thread waits.
    ///
    /// On a thread that already runs watched work, and in a forked child, `body` runs at once.
    ///
    /// - Parameters:
    ///   - limit: The maximum duration of a single call of a module; at least ten minutes for calls that generate keys.
    ///   - body: The work.
    /// - Returns: The result of `body`.
    /// - Throws: Errors of `body`; `KeychainError` with code `timedOut` if a call of a module has exceeded `limit`, or
    ///   if all threads wait for such calls.
    package static func runBlocking<Output: Sendable>(
        limit: Duration, _ body: @escaping @Sendable () throws -> Output
    ) throws -> Output {
        let thread = UInt(pthread_self())
        guard process == getpid(), state.withLock({ $0.entries[thread] == nil }) else { return try body() }
        let stage = Lock(Stage<Output>.queued)
        let work = Lock(Optional(body))
        blocking.start {
            let isWanted = stage.withLock { stage in
                guard case .queued = stage else { return false }
                stage = .running
                return true
            }
            guard isWanted else { return }
            stage.signal()
            var result = perform(work, limit: limit) { error in
                stage.withLock { stage in if case .running = stage { stage = .ended(.failure(error)) } }
                stage.signal()
            }
            stage.withLock { stage in
                if case .running = stage, let result { stage = .ended(result) }
                result = nil
            }
            stage.signal()
        }
        let isQueued = stage.wait(until: .after(limit)) { stage -> Bool? in
            if case .queued = stage { nil } else { false }
        } == nil
        if isQueued, stage.withLock({ $0.giveUp() }) {
            throw KeychainError(
                .timedOut, "too many calls of PKCS#11 modules have not returned.",
                hint: "The token, its reader or its daemon may be stopped or gone: check it, and try again.")
        }
        let result = stage.wait(until: .never) { stage -> Result<Output, any Error>? in
            if case .ended(let result) = stage { result } else { nil }
        }
        // The wait has no deadline: the watching thread ends it.
        guard let result else { throw KeychainError.stopped }
        return try result.get()
    }

    /// How far a work item of a blocking caller is.
    private enum Stage<Output: Sendable>: Sendable {
        case queued, running
        case ended(Result<Output, any Error>)
        case abandoned

        /// Abandons the work item unless a thread has begun it.
        mutating func giveUp() -> Bool {
            guard case .queued = self else { return false }
            self = .abandoned
            return true
        }
    }

    /// Runs the work on this thread.
    ///
    /// The caller may end the process as soon as it has the result. So the work, which may hold the last reference to a
    /// keychain, is released before.
    ///
    /// - Parameters:
    ///   - work: The work, which is taken out.
    ///   - limit: The maximum duration of a single call of a module.
    ///   - onHang: Called on another thread if a call has exceeded the limit.
    /// - Returns: The result; `nil` if there was no work.
    private static func perform<Output: Sendable>(
        _ work: Lock<(@Sendable () throws -> Output)?>, limit: Duration,
        onHang: @escaping @Sendable (KeychainError) -> Void
    ) -> Result<Output, any Error>? {
        guard let body = work.take() else { return nil }
        begin(limit) { onHang(KeychainError.hanging($0, for: limit)) }
        defer { state.withLock { $0.entries[UInt(pthread_self())] = nil } }
        return Result { try body() }
    }

    private static func begin(_ limit: Duration, _ fail: @escaping @Sendable (PendingCall) -> Void) {
        let isFirst = state.withLock { state in
            state.last += 1
            state.entries[UInt(pthread_self())] = Entry(number: state.last, limit: limit, fail: fail)
            let isFirst = state.watcher != getpid()
            state.watcher = getpid()
            return isFirst
        }
        if isFirst, !POSIXThread.startDetached("keyfob-hangs", { watchCalls() }) {
            // Without a watching thread, callers wait for a call that hangs; everything else works.
            state.withLock { $0.watcher = 0 }
        }
    }

    /// The body of the watching thread, which runs as long as a caller waits.
    private static func watchCalls() {
        var ages = CallAges()
        while true {
            usleep(UInt32(interval / .microseconds(1)))
            let pending = ages.look(after: interval)
            let entries = state.withLock { state -> [UInt: Entry] in
                let entries = state.entries.filter { $0.value.fail != nil }
                if entries.isEmpty { state.watcher = 0 }
                return entries
            }
            if entries.isEmpty { return }
            for (thread, entry) in entries {
                guard let age = pending.first(where: { $0.call.thread == thread }) else { continue }
                let limit = age.call.mayTakeMinutes ? max(entry.limit, .seconds(600)) : entry.limit
                guard age.total >= limit else { continue }
                state.withLock { state in
                    // The thread may run other work by now.
                    if state.entries[thread]?.number == entry.number { state.entries[thread]?.fail = nil }
                }
                entry.fail?(age.call)
            }
        }
    }
}

extension Lock {
    /// Takes the value out.
    fileprivate func take<Wrapped: Sendable>() -> Wrapped? where Value == Wrapped? {
        withLock { value in
            defer { value = nil }
            return value
        }
    }
}

extension KeychainError {
    /// The error for a call of a module that does not return.
    package static func hanging(_ call: PendingCall, for duration: Duration) -> KeychainError {
        KeychainError(
            .timedOut,
            "\(call.function) of the module \(TerminalSafe.text(call.module)) has not returned for "
                + "\(duration.components.seconds) s.",
            remedies: [
                "The token, its reader or its daemon may be stopped or gone: check it, and try again.",
                Remedy("Wait longer", .change(.timeout)),
            ],
            details: ["function": call.function.rawValue, "module": call.module])
    }
}
