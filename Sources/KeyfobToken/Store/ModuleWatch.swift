import Foundation
package import KeyfobPrimitives
package import PKCS11

/// Reports an error to the caller of an asynchronous function if a call of the token's module does not return.
///
/// The call itself cannot be cancelled: its thread is abandoned, and ends when the module returns.
package enum ModuleWatch {
    private struct Entry: Sendable {
        let thread: UInt
        let limit: Duration
        let fail: @Sendable (PendingCall) -> Void
    }

    private struct State {
        var last: UInt64 = 0
        var entries: [UInt64: Entry] = [:]
        /// The process whose thread watches the calls; 0 for none.
        var watcher: pid_t = 0
    }

    private static let state = Lock(State())
    private static let interval = Duration.milliseconds(100)

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
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Output, any Error>) in
            let waiting = Lock(Optional(continuation))
            let resume = { @Sendable (result: Result<Output, any Error>) in
                let continuation = waiting.withLock { waiting in
                    defer { waiting = nil }
                    return waiting
                }
                continuation?.resume(with: result)
            }
            executor.start {
                let number = begin(limit) { resume(.failure(KeychainError.hanging($0, for: limit))) }
                let result = Result { try body() }
                state.withLock { $0.entries[number] = nil }
                resume(result)
            }
        }
    }

    private static func begin(_ limit: Duration, _ fail: @escaping @Sendable (PendingCall) -> Void) -> UInt64 {
        let entry = Entry(thread: UInt(pthread_self()), limit: limit, fail: fail)
        let (number, isFirst) = state.withLock { state in
            state.last += 1
            state.entries[state.last] = entry
            let isFirst = state.watcher != getpid()
            state.watcher = getpid()
            return (state.last, isFirst)
        }
        if isFirst, !POSIXThread.startDetached("keyfob-hangs", { watch() }) {
            // Without a watching thread, callers wait for a call that hangs; everything else works.
            state.withLock { $0.watcher = 0 }
        }
        return number
    }

    /// The body of the watching thread, which runs as long as there are entries.
    private static func watch() {
        var ages = CallAges()
        while true {
            usleep(UInt32(interval / .microseconds(1)))
            let pending = ages.look(after: interval)
            let entries = state.withLock { state -> [UInt64: Entry] in
                if state.entries.isEmpty { state.watcher = 0 }
                return state.entries
            }
            if entries.isEmpty { return }
            for (number, entry) in entries {
                guard let age = pending.first(where: { $0.call.thread == entry.thread }) else { continue }
                let limit = age.call.mayTakeMinutes ? max(entry.limit, .seconds(600)) : entry.limit
                guard age.total >= limit else { continue }
                state.withLock { $0.entries[number] = nil }
                entry.fail(age.call)
            }
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
