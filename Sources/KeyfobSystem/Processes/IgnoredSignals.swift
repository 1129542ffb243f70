import Glibc
import Synchronization

/// The signals that the caller of this process ignores, for programs that the user runs through it.
///
/// systemd, for example, starts services with SIGPIPE ignored.
package enum IgnoredSignals {
    /// The signals whose action this process changes for itself.
    private static let numbers = [SIGPIPE, SIGXFSZ, SIGTTOU, SIGCHLD]
    /// One bit for each signal.
    private static let ofCaller = Atomic<UInt64>(0)

    /// Records them. Call it before this process changes the action of a signal.
    package static func record() {
        for number in numbers {
            let action = signal(number, SIG_DFL)
            signal(number, action)
            // 1 is SIG_IGN.
            guard unsafe unsafeBitCast(action, to: Int.self) == 1 else { continue }
            ofCaller.bitwiseOr(1 << UInt64(number), ordering: .relaxed)
        }
    }

    /// Whether the caller ignores a signal.
    static func contains(_ number: Int32) -> Bool { ofCaller.load(ordering: .relaxed) & 1 << UInt64(number) != 0 }
}
