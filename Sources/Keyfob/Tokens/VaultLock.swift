import CLinux
import Foundation
import KeyfobPrimitives

/// The write lock of a keychain: one process at a time changes objects on its token. Of the same make is the lock of
/// an order for a certificate.
///
/// An advisory lock on a file beside the vault, so that the kernel releases it with the process. It is
/// separate from SQLite's own lock because a change to a token spans two transactions: the intent must be
/// on disk before the first object is made. The file holds who has it, for the message to those who wait.
struct VaultLock: Sendable {
    let path: String
    /// What messages call what is locked.
    let name: String
    /// What messages say of it between its name and its holder.
    var state = "is in use by"
    /// What it means to the keychain that the lock cannot be opened.
    var explain: @Sendable (KeychainError) -> KeychainError = { $0 }

    /// Runs `body` while this process alone may change the token.
    ///
    /// - Throws: `KeychainError` with code `vaultBusy` when `deadline` passes first.
    func withLock<Result>(until deadline: Deadline, _ body: () throws -> Result) throws -> Result {
        let descriptor = unsafe keyfob_open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw explain(unopened(errno)) }
        // Unlocked by name: a child that was forked meanwhile has the descriptor, too, and would keep the lock.
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
            guard !deadline.hasPassed else { throw busy(waited: Date().timeIntervalSince(started)) }
            // Short enough not to be felt; there is no way to wait for a lock with a deadline.
            usleep(2_000)
        }
        LockHolder.record(in: descriptor)
        return try body()
    }

    /// As `withLock(until:_:)`; `body` is run without the lock where its file cannot be had, as on a file system that
    /// takes nothing.
    ///
    /// - Throws: `KeychainError` with code `vaultBusy` when `deadline` passes first; what `body` throws.
    func withLockWherePossible<Result>(until deadline: Deadline, _ body: () throws -> Result) throws -> Result {
        var isHeld = false
        do {
            return try withLock(until: deadline) {
                isHeld = true
                return try body()
            }
        } catch let error as KeychainError where !isHeld && error.code != .vaultBusy { return try body() }
    }

    private func unopened(_ number: Int32) -> KeychainError {
        let reason = "\(path) cannot be opened: \(unsafe String(cString: strerror(number)))."
        switch number {
        case ENOSPC, EDQUOT: return .diskFull(at: path)
        // As SQLite's refusal of the same is told.
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

    private func busy(waited: TimeInterval) -> KeychainError {
        let holder = LockHolder.name(in: path)
        // The holder has written its name when it took the lock.
        let since = (try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate]) as? Date
        let time = since.map { " for \(max(0, Int(Date().timeIntervalSince($0)))) s" } ?? ""
        return KeychainError(
            .vaultBusy, "\(name) \(state) \(holder.map { $0 + time } ?? "another process").",
            remedies: [Remedy("Waiting was limited to \(Int(waited.rounded())) s; wait longer", .change(.timeout))],
            details: ["holder": holder ?? ""].filter { !$0.value.isEmpty })
    }
}
