import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// A file lock that another process holds, and that this process waits for within fcntl(2).
///
/// Keyfob and SQLite only try their locks and never wait within fcntl(2), so the waiting code is a library.
struct AwaitedLock: Hashable {
    /// The process that holds the lock.
    let holder: pid_t
    /// The file, as device and inode.
    let file: String

    /// The first lock that this process is waiting for; `nil` if there is none, or if the kernel does not report it.
    ///
    /// Read from `/proc/locks` (proc(5)), which does not show holders in other containers.
    static func current() -> AwaitedLock? {
        text("/proc/locks").flatMap { first(of: getpid(), in: $0) }
    }

    /// Like `current()`, for any process and the text of `/proc/locks`.
    static func first(of process: pid_t, in table: String) -> AwaitedLock? {
        var holders: [Substring: pid_t] = [:]
        for line in table.split(separator: "\n") {
            // The format is "1: POSIX  ADVISORY  WRITE 1234 fd:01:5678 0 EOF", and "1: -> …" for a waiting process.
            var fields = line.split(separator: " ")
            guard let number = fields.first else { continue }
            fields.removeFirst()
            let waits = fields.first == "->"
            if waits { fields.removeFirst() }
            guard fields.count >= 5, fields[0] == "POSIX", let owner = pid_t(fields[3]) else { continue }
            guard waits else {
                holders[number] = owner
                continue
            }
            guard owner == process, let holder = holders[number], holder != process else { continue }
            return AwaitedLock(holder: holder, file: String(fields[4]))
        }
        return nil
    }

    /// The number and name of the holder, for messages.
    var holderName: String {
        guard let name = Self.text("/proc/\(holder)/comm")?.trimmingBlanks, !name.isEmpty else {
            return "process \(holder)"
        }
        return "process \(holder) (\(TerminalSafe.text(name)))"
    }

    private static func text(_ path: String) -> String? {
        guard let file = OpenFile(path: path, flags: O_RDONLY) else { return nil }
        // The process may have ended in the meantime; then the name is omitted.
        return (try? file.read(limit: 1 << 22)).map { String(decoding: $0.copyData(), as: UTF8.self) }
    }
}
