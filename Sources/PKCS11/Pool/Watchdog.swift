import Foundation
import KeyfobPrimitives

/// Reports calls that last for more than half a second, while they last.
///
/// Its thread sleeps while no call is watched.
final class Watchdog: Sendable {
    private struct Entry {
        let operation: String
        let start: ContinuousClock.Instant
        var isReported = false
    }

    private struct State {
        var entries: [Int: Entry] = [:]
        var lastNumber = 0
        var isEnded = false
    }

    private let state: Lock<State>

    /// Starts the thread that calls `notice`, with no lock held.
    init(notice: @escaping @Sendable (String, Duration) -> Void) {
        let state = Lock(State())
        self.state = state
        // Without a thread, slow calls are not reported; nothing else is lost.
        _ = POSIXThread.startDetached("keyfob-watchdog") { Self.run(state, notice) }
    }

    deinit {
        state.withLock { $0.isEnded = true }
        state.broadcast()
    }

    /// Watches a call that begins now, until `end(_:)` with the number returned.
    func begin(_ operation: String) -> Int {
        let entry = Entry(operation: operation, start: .now)
        let (number, isFirst) = state.withLock { state in
            state.lastNumber += 1
            state.entries[state.lastNumber] = entry
            return (state.lastNumber, state.entries.count == 1)
        }
        if isFirst { state.broadcast() }
        return number
    }

    /// Ends the watch of a call.
    func end(_ number: Int) {
        state.withLock { _ = $0.entries.removeValue(forKey: number) }
    }

    private static let limit = Duration.milliseconds(500)

    private static func run(_ state: Lock<State>, _ notice: (String, Duration) -> Void) {
        while true {
            let isEnded = state.wait(until: .never) { state -> Bool? in
                state.isEnded ? true : state.entries.isEmpty ? nil : false
            }
            if isEnded != false { return }
            // Reports are at most a tenth of a second late, and faster calls cost no work.
            if state.wait(until: .after(.milliseconds(100)), { $0.isEnded ? true : nil }) != nil { return }
            let now = ContinuousClock.now
            let slow = state.withLock { state in
                var slow: [(String, Duration)] = []
                for (number, entry) in state.entries where !entry.isReported && now - entry.start >= limit {
                    state.entries[number]?.isReported = true
                    slow.append((entry.operation, now - entry.start))
                }
                return slow
            }
            for (operation, elapsed) in slow { notice(operation, elapsed) }
        }
    }
}
