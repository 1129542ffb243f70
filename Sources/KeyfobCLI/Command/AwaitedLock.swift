import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// A lock on a file that another process holds, and for which this one waits inside of fcntl(2).
///
/// Keyfob's own locks are tried and never waited for there, and so are SQLite's: it is a library that waits.
struct AwaitedLock: Hashable {
    /// The process that holds it.
    let holder: pid_t
    /// The file, as device and inode.
    let file: String

    /// The first of those that this process waits for now; `nil` where it waits for none, or the kernel does not tell.
    ///
    /// Stands for `/proc/locks`, which proc(5) describes. A holder in another container is not told there.
    static func current() -> AwaitedLock? {
        text("/proc/locks").flatMap { first(of: getpid(), in: $0) }
    }

    /// As `current()`, of a process in the text of such a file.
    static func first(of process: pid_t, in table: String) -> AwaitedLock? {
        var holders: [Substring: pid_t] = [:]
        for line in table.split(separator: "\n") {
            // 1: POSIX  ADVISORY  WRITE 1234 fd:01:5678 0 EOF, and 1: -> and so on for who waits for it.
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

    /// The holder's number and name, for messages.
    var holderName: String {
        guard let name = Self.text("/proc/\(holder)/comm")?.trimmingBlanks, !name.isEmpty else {
            return "process \(holder)"
        }
        return "process \(holder) (\(Visible.text(name)))"
    }

    private static func text(_ path: String) -> String? {
        guard let file = OpenFile(path: path, flags: O_RDONLY) else { return nil }
        // A process may have ended since, and without the rest of what is told here nothing is lost.
        return (try? file.read(limit: 1 << 22)).map { String(decoding: $0.copyData(), as: UTF8.self) }
    }
}
