import Foundation
import KeyfobPrimitives
package import PKCS11

/// Gives the caller of an asynchronous call an error where a call of the token's module does not return.
///
/// The call itself cannot be cancelled: its thread is abandoned, and ends when the module returns.
enum ModuleWatch {
    private struct Entry: Sendable {
        let thread: UInt
        let limit: Duration
        let fail: @Sendable (PendingCall) -> Void
    }

    private struct State {
        var last: UInt64 = 0
        var entries: [UInt64: Entry] = [:]
        /// The process whose thread watches them; 0 for none.
        var watcher: pid_t = 0
    }

    private static let state = Lock(State())
    private static let interval = Duration.milliseconds(100)

    /// Runs `body` on a thread of `executor`.
    ///
    /// - Parameter limit: How long a single call of a module may last; calls that make keys may last ten minutes.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; `KeychainError` with code `timedOut` where a call of a module has exceeded `limit`.
    static func run<Output: Sendable>(
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
            // Without a thread a call that hangs is waited for, and nothing else is lost.
            state.withLock { $0.watcher = 0 }
        }
        return number
    }

    /// What the watching thread does for as long as there is anything to watch.
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
    /// The error of a call into a module that does not return.
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

extension Keychain {
    /// How long a single call of the module may last before an asynchronous caller gets an error: a token answers
    /// within two seconds also where no other process is to be waited for.
    var moduleLimit: Duration { max(options.timeout, .seconds(2)) }
}
