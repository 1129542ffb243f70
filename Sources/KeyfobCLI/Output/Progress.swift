import Glibc
import Keyfob

/// A progress line on standard error for a long operation.
///
/// Nothing is shown for the first 400 ms, so that quick operations stay silent. Files and pipes get no progress unless
/// requested. Used from one thread.
struct Progress: ~Copyable {
    private static let patience: Duration = .milliseconds(400)
    private static let interval: Duration = .milliseconds(100)

    private let title: String
    private let total: Int?
    private let isShown: Bool
    private let overwrites: Bool
    private let write: (String) -> Void
    private let now: () -> ContinuousClock.Instant
    private let start: ContinuousClock.Instant
    private var last: ContinuousClock.Instant?
    private var isDirty = false

    /// Starts the progress of `title`, such as `re-wrapping`, over `total` steps; `nil` if the number is unknown.
    init(
        _ title: String, total: Int? = nil, when: When, isTerminal: Bool = isatty(STDERR_FILENO) == 1,
        write: @escaping (String) -> Void = { StandardError.write($0) },
        now: @escaping () -> ContinuousClock.Instant = { .now }
    ) {
        self.title = TerminalSafe.text(title)
        self.total = total
        self.write = write
        isShown = when == .always || (when == .auto && isTerminal)
        overwrites = isTerminal
        self.now = now
        start = now()
    }

    deinit {
        if isDirty { write("\r\u{1B}[K") }
    }

    /// Reports that `count` steps are done.
    mutating func update(_ count: Int) {
        let now = now()
        guard isShown, now - start >= Self.patience else { return }
        let isLast = count == total
        if let last, !isLast, now - last < (overwrites ? Self.interval : .seconds(1)) { return }
        last = now
        show(text(count, elapsed: now - start))
    }

    /// Shows at once what the operation is waiting for, such as a touch of the token.
    mutating func waiting(for what: String) {
        guard isShown else { return }
        show("\(title): waiting for \(TerminalSafe.text(what))")
    }

    private mutating func show(_ line: String) {
        write(overwrites ? "\r  \(line)\u{1B}[K" : "  \(line)\n")
        isDirty = overwrites
    }

    private func text(_ count: Int, elapsed: Duration) -> String {
        guard let total, total > 0 else { return "\(title)  \(Phrases.grouped(count))" }
        let percent = min(100, count * 100 / total)
        var line = "\(title)  \(Phrases.grouped(count))/\(Phrases.grouped(total))  \(percent)%"
        if count > 0, count < total {
            let seconds = elapsed / .seconds(1)
            let left = seconds / Double(count) * Double(total - count)
            line += "  \(Phrases.duration(seconds: max(1, left))) left"
        }
        return line
    }
}
