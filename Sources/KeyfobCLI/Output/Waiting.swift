import Dispatch
import Keyfob

/// What a person is told who waits for somebody else's program or server, or for a file of theirs.
enum Waiting {
    /// How long nothing is said.
    private static let patience = DispatchTimeInterval.seconds(1)

    /// Runs `body`, and says on standard error what is waited for when that takes longer than a second.
    ///
    /// - Parameter isShown: False where nobody watches.
    static func notice<Result>(_ what: String, isShown: Bool, _ body: () throws -> Result) rethrows -> Result {
        guard isShown else { return try body() }
        let notice = DispatchWorkItem { StandardError.write("keyfob: waiting for \(Visible.text(what))…\n") }
        DispatchQueue.global().asyncAfter(deadline: .now() + patience, execute: notice)
        defer { notice.cancel() }
        return try body()
    }
}
