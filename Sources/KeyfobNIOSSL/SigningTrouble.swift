#if NIOSSL
import Keyfob
import KeyfobPrimitives

/// Carries failed signatures to whoever follows the identity, and wakes it before its interval is over.
final class SigningTrouble: Sendable {
    private struct State {
        var listener: (@Sendable (KeychainError) -> Void)?
        var sleeper: CheckedContinuation<Bool?, Never>?
        var isNew = false
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
    /// - Returns: Whether one has failed; `nil` at the end.
    func wait(_ interval: Duration) async -> Bool? {
        let alarm = Task { [weak self] in
            // Cancelled: somebody else woke the sleeper.
            do { try await Task.sleep(for: interval) } catch { return }
            self?.wake { _ in }
        }
        defer { alarm.cancel() }
        return await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> Bool?? in
                if state.hasEnded { return .some(nil) }
                if state.isNew {
                    state.isNew = false
                    return true
                }
                state.sleeper = continuation
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    private func wake(_ change: (inout State) -> Void) {
        let (sleeper, answer) = state.withLock { state -> (CheckedContinuation<Bool?, Never>?, Bool?) in
            change(&state)
            guard let sleeper = state.sleeper else { return (nil, nil) }
            state.sleeper = nil
            defer { state.isNew = false }
            return (sleeper, state.hasEnded ? nil : state.isNew)
        }
        sleeper?.resume(returning: answer)
    }
}
#endif
