import CLinux
package import Foundation
package import KeyfobPrimitives

/// A lock that processes share through a file.
///
/// It is flock(2) on an open file of its own: the kernel drops it when the holder dies, and two holders
/// in one process exclude each other like two processes.
package struct FileLock: ~Copyable {
    /// Whether others may hold it at the same time.
    package enum Mode {
        /// By one alone.
        case exclusive
        /// By any number, but not beside one who has it alone.
        case shared
    }

    private let file: OpenFile

    /// Runs `body` while this one alone holds the lock. - Throws: As `init`, and what `body` throws.
    package static func holding<Result>(
        _ url: URL, deadline: Deadline, _ body: () throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result {
        let lock = try FileLock(url, deadline: deadline)
        LockHolder.record(in: lock.file.descriptor)
        // Released by name on both ways out: that the lock lasts to here may not hang on where the
        // compiler ends the lifetime of a value that nobody reads.
        do throws(KeychainError) {
            let result = try body()
            lock.release()
            return result
        } catch {
            lock.release()
            throw error
        }
    }

    /// Runs `body` with the lock held, or without it where it cannot be had by `deadline`. - Throws: What `body`
    /// throws.
    package static func attempting<Result, Failure: Error>(
        _ url: URL, deadline: Deadline, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let lock: FileLock
        do throws(KeychainError) { lock = try FileLock(url, deadline: deadline) } catch { return try body() }
        let result = Swift.Result(catching: body)
        lock.release()
        return try result.get()
    }

    /// By name: a child that was forked meanwhile has the descriptor, too, and would keep the lock.
    package consuming func release() { flock(file.descriptor, LOCK_UN) }

    /// Waits for the lock until `deadline`; makes the lock file, mode 0600, if it is missing.
    ///
    /// - Throws: `timedOut` at the deadline; `fileUnavailable` when the file cannot be opened.
    package init(_ url: URL, _ mode: Mode = .exclusive, deadline: Deadline) throws(KeychainError) {
        guard let file = OpenFile(path: url.filePath, flags: O_RDWR | O_CREAT | O_NOFOLLOW) else {
            throw .file("lock", url.filePath, errno)
        }
        var pause: UInt32 = 500
        while flock(file.descriptor, (mode == .exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else { throw .file("lock", url.filePath, errno) }
            guard !deadline.hasPassed else {
                let holder = LockHolder.name(in: url.filePath)
                throw KeychainError(
                    .timedOut, "\(holder ?? "another process") holds \(url.filePath).",
                    hint: "Try again when it has ended.",
                    details: ["path": url.filePath, "holder": holder ?? ""].filter { !$0.value.isEmpty })
            }
            usleep(pause)
            pause = min(pause * 2, 20_000)
        }
        self.file = file
    }
}
