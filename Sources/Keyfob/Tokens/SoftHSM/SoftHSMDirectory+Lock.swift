import CLinux
import Foundation
package import KeyfobPrimitives

/// The lock of the directory: only one thread at a time creates, repairs or removes tokens, initializes SoftHSM or logs
/// in.
///
/// Each login truncates the token's file for a moment, and an initialization of SoftHSM misses a token whose file is
/// empty. The lock is recursive: a thread that holds it may take it again.
extension SoftHSMDirectory {
    /// The threads that hold a lock, as `ThreadNumber`s, by the path of the lock.
    private static let holders = Lock<[String: UInt64]>([:])

    /// Runs `body` while no other thread or process holds the lock.
    ///
    /// - Parameters:
    ///   - deadline: The limit for waiting for the lock.
    ///   - body: The work.
    /// - Returns: The result of `body`.
    /// - Throws: `KeychainError` with code `timedOut` if another process holds the lock until `deadline`;
    ///   `fileUnavailable`; errors of `body`.
    func holdingLock<Result>(
        until deadline: Deadline, _ body: () throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result {
        guard !isLockedHere else { return try body() }
        return try FileLock.holding(lockFile, deadline: deadline) { () throws(KeychainError) -> Result in
            noteHolder(true)
            defer { noteHolder(false) }
            return try body()
        }
    }

    /// Runs `body`, which initializes SoftHSM or logs in, with the lock if possible, otherwise without.
    ///
    /// Waits for the lock for at most two seconds and until `deadline`. Other programs do not know the lock, so it
    /// makes collisions rare but does not exclude them.
    package func holdingLoginLock<Result>(until deadline: Deadline, _ body: () throws -> Result) throws -> Result {
        guard !isLockedHere else { return try body() }
        let longest = Duration.seconds(2)
        let lock: FileLock
        do throws(KeychainError) {
            lock = try FileLock(lockFile, deadline: .after(min(deadline.remaining ?? longest, longest)))
        } catch {
            return try body()
        }
        noteHolder(true)
        let result = Swift.Result { try body() }
        noteHolder(false)
        lock.release()
        return try result.get()
    }

    private var isLockedHere: Bool {
        Self.holders.withLock { $0[lockFile.filePath] == ThreadNumber.current }
    }

    private func noteHolder(_ isHeld: Bool) {
        Self.holders.withLock { $0[lockFile.filePath] = isHeld ? ThreadNumber.current : nil }
    }
}

/// The kernel's number of a thread.
enum ThreadNumber {
    /// The calling thread together with its process: pthread_self(3) is the same in a forked child as in its parent.
    static var current: UInt64 {
        UInt64(UInt32(bitPattern: getpid())) << 32 | UInt64(UInt32(bitPattern: keyfob_thread_id()))
    }
}
