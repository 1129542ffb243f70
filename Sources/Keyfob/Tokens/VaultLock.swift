import CLinux
import Foundation
import KeyfobPrimitives

/// The write lock of a keychain: only one process at a time changes objects on its token.
///
/// It is an advisory lock on a file beside the vault, so the kernel releases it when the process ends. It is separate
/// from SQLite's lock because a change to a token spans two transactions: the intent must be on disk before the first
/// object is created. The holder writes its name into the file, for the error message of processes that wait.
/// Certificate orders use the same type of lock.
struct VaultLock: Sendable {
    /// The file; `nil` for a vault in memory, which no other process uses.
    let path: String?
    /// The name of the locked thing in messages.
    let name: String
    /// The text between `name` and the holder in messages.
    var state = "is in use by"
    /// Converts the error of a lock file that cannot be opened into one about the keychain.
    var explain: @Sendable (KeychainError) -> KeychainError = { $0 }

    /// Runs `body` while this process holds the lock.
    ///
    /// - Throws: `KeychainError` with code `vaultBusy` when `deadline` passes first, `refused`, `diskFull` or
    ///   `vaultUnavailable` if the lock cannot be taken; errors of `body`.
    func withLock<Result>(until deadline: Deadline, _ body: () throws -> Result) throws -> Result {
        guard let path else { return try body() }
        let descriptor = unsafe keyfob_open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw explain(unopened(path, errno)) }
        // Unlock explicitly: a child process forked in the meantime has inherited the descriptor and would keep the
        // lock.
        defer {
            flock(descriptor, LOCK_UN)
            close(descriptor)
        }
        let started = Date()
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else {
                let reason = unsafe String(cString: strerror(errno))
                throw KeychainError(
                    .vaultUnavailable, "the lock \(path) cannot be taken: \(reason).",
                    hint: "Its file system may have no locks: findmnt -T \(ShellWord.quoted(path))",
                    details: ["path": path])
            }
            guard !deadline.hasPassed else { throw busy(path, waited: Date().timeIntervalSince(started)) }
            // `flock` has no timeout, so poll at a short interval.
            usleep(2_000)
        }
        LockHolder.record(in: descriptor)
        return try body()
    }

    /// Runs `body` with the lock, or without it if the lock cannot be taken, for example on a read-only file system.
    ///
    /// - Throws: `KeychainError` with code `vaultBusy` when `deadline` passes first; errors of `body`.
    func withLockWherePossible<Result>(until deadline: Deadline, _ body: () throws -> Result) throws -> Result {
        var isHeld = false
        do {
            return try withLock(until: deadline) {
                isHeld = true
                return try body()
            }
        } catch let error as KeychainError where !isHeld && error.code != .vaultBusy { return try body() }
    }

    private func unopened(_ path: String, _ number: Int32) -> KeychainError {
        let reason = "\(path) cannot be opened: \(unsafe String(cString: strerror(number)))."
        switch number {
        case ENOSPC, EDQUOT: return .diskFull(at: path)
        // The same error as for SQLite's refusal to write.
        case EACCES, EPERM, EROFS:
            return KeychainError(
                .refused, "\(name) is read-only; nothing was changed.",
                hint: reason + " Check who may write there, and how its file system is mounted.",
                details: ["path": path, "sqlite": "8"])
        default:
            return KeychainError(
                .vaultUnavailable, "the lock " + reason, hint: "Check what it is: ls -ld \(ShellWord.quoted(path))",
                details: ["path": path])
        }
    }

    private func busy(_ path: String, waited: TimeInterval) -> KeychainError {
        let holder = LockHolder.name(in: path)
        // The holder wrote its name when it took the lock, so the modification time tells since when it is held.
        let since = (try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate]) as? Date
        let time = since.map { " for \(max(0, Int(Date().timeIntervalSince($0)))) s" } ?? ""
        return KeychainError(
            .vaultBusy, "\(name) \(state) \(holder.map { $0 + time } ?? "another process").",
            remedies: [Remedy("Waiting was limited to \(Int(waited.rounded())) s; wait longer", .change(.timeout))],
            details: ["holder": holder ?? ""].filter { !$0.value.isEmpty })
    }
}
