import Keyfob
import KeyfobPrimitives

/// What a person is told who waits for somebody else's program or server, or for a file of theirs.
enum Waiting {
    /// How long nothing is said.
    private static let patience = Duration.seconds(1)

    /// Runs `body`, and says on standard error what is waited for when that takes longer than a second.
    ///
    /// - Parameter isShown: False where nobody watches.
    static func notice<Result>(_ what: String, isShown: Bool, _ body: () throws -> Result) rethrows -> Result {
        guard isShown else { return try body() }
        let isOver = Lock(false)
        // Where the system has no more threads nobody is told. libdispatch would wait for one for ever.
        _ = POSIXThread.startDetached("keyfob-waiting") {
            guard isOver.wait(until: .after(Self.patience), { $0 ? true : nil }) == nil else { return }
            StandardError.write("keyfob: waiting for \(Visible.text(what))…\n")
        }
        defer {
            isOver.withLock { $0 = true }
            isOver.broadcast()
        }
        return try body()
    }
}
