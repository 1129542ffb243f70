import CLinux
package import Foundation
package import KeyfobPrimitives

/// A lock that processes share through a file.
///
/// It is flock(2) on an open file of its own. The kernel releases it when the holder ends, and two holders in one
/// process exclude each other like two processes.
package struct FileLock: ~Copyable {
    private let file: OpenFile

    /// Runs `body` while this process alone holds the lock.
    ///
    /// - Throws: `timedOut`, `fileUnavailable`, and the errors of `body`.
    package static func holding<Result>(
        _ url: URL, deadline: Deadline, _ body: () throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result {
        let lock = try FileLock(url, deadline: deadline)
        LockHolder.record(in: lock.file.descriptor)
        // Released explicitly: the compiler may end the lifetime of a value after its last use.
        do throws(KeychainError) {
            let result = try body()
            lock.release()
            return result
        } catch {
            lock.release()
            throw error
        }
    }

    /// Runs `body` with the lock, or without it if it is not available by `deadline`.
    ///
    /// - Throws: The errors of `body`.
    package static func attempting<Result, Failure: Error>(
        _ url: URL, deadline: Deadline, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try attempting({ () throws(KeychainError) in try FileLock(url, deadline: deadline) }, body)
    }

    /// Runs `body` with the lock that `take` takes, or without it if `take` fails.
    ///
    /// - Throws: The errors of `body`.
    package static func attempting<Result, Failure: Error>(
        _ take: () throws(KeychainError) -> FileLock, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let lock: FileLock
        do throws(KeychainError) { lock = try take() } catch { return try body() }
        let result = Swift.Result(catching: body)
        lock.release()
        return try result.get()
    }

    /// Writes this process into the lock file, for the messages of processes that wait.
    package borrowing func recordHolder() { LockHolder.record(in: file.descriptor) }

    /// By flock(2) itself: a child process that has the descriptor would keep the lock.
    package consuming func release() { flock(file.descriptor, LOCK_UN) }

    /// Waits for the lock until `deadline`; creates the lock file with mode 0600 if it is missing.
    ///
    /// - Throws: `timedOut` at the deadline; `fileUnavailable` if the file cannot be opened.
    package init(_ url: URL, deadline: Deadline) throws(KeychainError) {
        guard let file = OpenFile(path: url.filePath, flags: O_RDWR | O_CREAT | O_NOFOLLOW) else {
            throw .file("lock", url.filePath, errno)
        }
        var pause: UInt32 = 500
        while flock(file.descriptor, LOCK_EX | LOCK_NB) != 0 {
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
