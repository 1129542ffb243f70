#if NIOSSL
import Keyfob
import KeyfobPrimitives

/// Carries failed signatures to whoever follows the identity, and wakes it before its interval is over.
final class SigningTrouble: Sendable {
    private struct State {
        var listener: (@Sendable (KeychainError) -> Void)?
        var sleeper: CheckedContinuation<Bool?, Never>?
        var isNew = false
        /// Whether an interval was over before anybody slept.
        var isDue = false
        /// Whether it was a failure that last woke the sleeper.
        var wasNew = false
        var hasEnded = false
    }

    private let state = Lock(State())

    /// Passes failures on from now on.
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

    /// Takes note of a failed signature. Called on the signing threads.
    func report(_ error: KeychainError) {
        let listener = state.withLock { $0.listener }
        listener?(error)
        wake { $0.isNew = true }
    }

    /// Waits for `interval`, or less where a signature fails meanwhile.
    ///
    /// - Parameter pause: For how long failures wake nobody after one has: while a token is gone every handshake fails,
    ///   and to look at the token for each of them would keep a core busy.
    /// - Returns: Whether one has failed; `nil` at the end.
    func wait(_ interval: Duration, pausing pause: Duration = .milliseconds(100)) async -> Bool? {
        // Only a cancellation ends this early, and then nobody minds.
        if state.withLock({ $0.wasNew }) { try? await Task.sleep(for: min(pause, interval)) }
        let isNew = await next(interval)
        state.withLock { $0.wasNew = isNew == true }
        return isNew
    }

    private func next(_ interval: Duration) async -> Bool? {
        let alarm = Task { [weak self] in
            // Cancelled: somebody else woke the sleeper.
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

    /// Wakes who waits, or who is just about to: where its thread was held up, the interval is over before it sleeps.
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
