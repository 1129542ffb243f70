import CLinux
import Glibc
import Keyfob
import Synchronization

/// Tells whether a signal was sent to the process group, or to this process alone.
///
/// A signal does not say so itself. But it stays pending in another process of the group that blocks it, and /proc
/// shows what is pending. The kernel signals the newest process of a group first. So a signal of the group is pending
/// there before it reaches this process.
enum GroupSignals {
    /// The signals that the other process blocks. SIGTSTP and SIGTTIN are not among them, because it must stop with the
    /// group.
    private static let names = "HUP,INT,QUIT,TERM,USR1,USR2,ALRM,CONT,WINCH"

    /// The status of the other process in /proc; -1 if there is none. Its number stays the same.
    private static let status = Atomic<Int32>(-1)
    /// Whether a signal is pending in the other process, so that the next one of its number would not be noticed.
    private static let isUsed = Atomic<Bool>(false)
    /// Used by one thread.
    private nonisolated(unsafe) static var other: OtherProcess?

    /// Starts the other process. Without it, `contains` returns `nil`.
    static func begin() {
        // Accessed here so that a handler is never the first to run an initialiser.
        _ = isUsed.load(ordering: .relaxed)
        // A signal that reaches the program twice is better than a program that does not start.
        guard let other = try? OtherProcess(blocking: names) else { return }
        unsafe self.other = other
        let opened = unsafe keyfob_open("/proc/\(other.identifier)/status", O_RDONLY | O_CLOEXEC, 0)
        guard opened >= 0 else { return }
        let known = status.load(ordering: .sequentiallyConsistent)
        guard known >= 0 else { return status.store(opened, ordering: .sequentiallyConsistent) }
        // In one step, because a handler may be reading it.
        dup2(opened, known)
        _ = fcntl(known, F_SETFD, FD_CLOEXEC)
        close(opened)
    }

    /// Whether a signal that this process got was sent to the group; `nil` if this cannot be told.
    ///
    /// Uses only functions that signal-safety(7) allows.
    static func contains(_ number: Int32) -> Bool? {
        let status = status.load(ordering: .sequentiallyConsistent)
        guard status >= 0, number != SIGTSTP, number != SIGTTIN else { return nil }
        let isPending = keyfob_is_pending(status, number)
        if isPending == 1 { isUsed.store(true, ordering: .sequentiallyConsistent) }
        return isPending < 0 ? nil : isPending == 1
    }

    /// Replaces the other process after a signal of the group, which would stay pending in it.
    static func renew() {
        guard isUsed.exchange(false, ordering: .sequentiallyConsistent) else { return }
        end()
        begin()
    }

    /// Ends the other process.
    static func end() { unsafe other = nil }
}

/// A process in the group of this one that blocks signals and does nothing. It ends with this process at the latest.
private final class OtherProcess {
    let identifier: Int32
    private let child: ChildProcess
    private let input: Int32

    init(blocking names: String) throws {
        var (reading, writing): (Int32, Int32) = (-1, -1)
        guard unsafe keyfob_pipe(&reading, &writing) == 0 else { throw KeychainError(.failed, "no pipe.") }
        defer { close(reading) }
        let null = unsafe keyfob_open("/dev/null", O_WRONLY | O_CLOEXEC, 0)
        defer { close(null) }
        input = writing
        // Its input ends when this process ends, however it ends. It must not keep the standard error of this process.
        do {
            child = try ChildProcess(
                ["/bin/sh", "-c", "exec env --block-signal=\(names) cat 2>/dev/null"], input: reading, output: null,
                inOwnGroup: false)
        } catch {
            close(writing)
            throw error
        }
        identifier = child.identifier
    }

    deinit { close(input) }
}
