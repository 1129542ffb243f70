#if NIOSSL
import Keyfob
import KeyfobPrimitives

/// Passes signing failures to the follower of an identity, and wakes it before its interval is over.
final class SigningTrouble: Sendable {
    private struct State {
        var listener: (@Sendable (KeychainError) -> Void)?
        var sleeper: CheckedContinuation<Bool?, Never>?
        var isNew = false
        /// Whether an interval ended before the follower slept.
        var isDue = false
        /// Whether the sleeper was last woken by a failure.
        var wasNew = false
        var hasEnded = false
    }

    private let state = Lock(State())

    /// Passes failures to `listener` from now on.
    func begin(_ listener: @escaping @Sendable (KeychainError) -> Void) {
        state.withLock { $0.listener = listener }
    }

    /// Ends every wait.
    func end() {
        wake { state in
            state.hasEnded = true
            state.listener = nil
        }
    }

    /// Reports a failed signature. Called on the signing threads.
    func report(_ error: KeychainError) {
        let listener = state.withLock { $0.listener }
        listener?(error)
        wake { $0.isNew = true }
    }

    /// Waits for `interval`, or until a signature fails.
    ///
    /// - Parameter pause: How long failures do not wake the follower after one has. While a token is gone every
    ///   handshake fails, and checking the token for each would keep a core busy.
    /// - Returns: Whether a signature has failed; `nil` at the end.
    func wait(_ interval: Duration, pausing pause: Duration = .milliseconds(100)) async -> Bool? {
        // Only a cancellation ends this sleep early, which does no harm.
        if state.withLock({ $0.wasNew }) { try? await Task.sleep(for: min(pause, interval)) }
        let isNew = await next(interval)
        state.withLock { $0.wasNew = isNew == true }
        return isNew
    }

    private func next(_ interval: Duration) async -> Bool? {
        let alarm = Task { [weak self] in
            // Cancelled, because the sleeper was woken otherwise.
            do { try await Task.sleep(for: interval) } catch { return }
            self?.endInterval()
        }
        defer { alarm.cancel() }
        return await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> Bool?? in
                if state.hasEnded { return .some(nil) }
                if state.isNew || state.isDue {
                    defer { (state.isNew, state.isDue) = (false, false) }
                    return state.isNew
                }
                state.sleeper = continuation
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    /// Wakes the sleeper. If its thread was delayed, the interval may end before it sleeps, so the flag stays set.
    func endInterval() { wake { $0.isDue = true } }

    private func wake(_ change: (inout State) -> Void) {
        let (sleeper, answer) = state.withLock { state -> (CheckedContinuation<Bool?, Never>?, Bool?) in
            change(&state)
            guard let sleeper = state.sleeper else { return (nil, nil) }
            state.sleeper = nil
            defer { (state.isNew, state.isDue) = (false, false) }
            return (sleeper, state.hasEnded ? nil : state.isNew)
        }
        sleeper?.resume(returning: answer)
    }
}
#endif
