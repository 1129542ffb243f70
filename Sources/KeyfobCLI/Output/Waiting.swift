import Keyfob
import KeyfobPrimitives

/// Notices about waiting for another program, a server or a file.
enum Waiting {
    /// The delay before the notice.
    private static let patience = Duration.seconds(1)

    /// Runs `body`. If it takes longer than a second, reports on standard error what it waits for.
    ///
    /// - Parameter isShown: Whether to print the notice; `false` if no person is watching.
    static func notice<Result>(_ what: String, isShown: Bool, _ body: () throws -> Result) rethrows -> Result {
        guard isShown else { return try body() }
        let isOver = Lock(false)
        // If the system cannot create a thread, there is no notice. libdispatch would wait indefinitely for a thread.
        _ = POSIXThread.startDetached("keyfob-waiting") {
            guard isOver.wait(until: .after(Self.patience), { $0 ? true : nil }) == nil else { return }
            StandardError.write("keyfob: waiting for \(TerminalSafe.text(what))…\n")
        }
        defer {
            isOver.withLock { $0 = true }
            isOver.broadcast()
        }
        return try body()
    }
}
