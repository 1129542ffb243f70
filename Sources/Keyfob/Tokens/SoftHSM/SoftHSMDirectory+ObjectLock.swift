import CLinux
import Foundation
import KeyfobPrimitives

/// Readers and writers of a token's objects.
///
/// SoftHSM makes an object in some thirty steps, each of which rewrites its file. Whoever reads the attributes of one
/// that is half made writes to it as well: the default of each attribute that he does not find, and with it all that he
/// has seen of the object, over what its maker has put there meanwhile. A private key has been lost so, and neither
/// process heard of it. So nobody of Keyfob's reads objects whose state he does not know while another makes some.
/// Other programs know nothing of the lock; see `TokenStore.requireFinished(_:since:)`.
extension SoftHSMDirectory {
    /// What somebody does with objects.
    enum ObjectAccess { case reading, writing }

    /// Runs `body` while nobody of Keyfob's writes objects of a token, or, to write some, while nobody else reads or
    /// writes any.
    ///
    /// Readers come and go, and a writer could wait for a moment without one for ever: who waits for his turn keeps
    /// those who come later from theirs. One who may not write beside the tokens reads without the lock, for he does no
    /// harm to their files.
    ///
    /// - Throws: `KeychainError`; `vaultBusy` at `deadline`, `fileUnavailable` for a writer; what `body` throws.
    func holdingObjects<Result>(
        serial: String, label: String, _ access: ObjectAccess, deadline: Deadline, _ body: () throws -> Result
    ) throws -> Result {
        let (turn, objects) = objectLocks(serial: serial)
        let lock: FileLock
        do throws(KeychainError) {
            let own = try FileLock(turn, deadline: deadline)
            do throws(KeychainError) {
                lock = try FileLock(objects, access == .writing ? .exclusive : .shared, deadline: deadline)
            } catch {
                own.release()
                throw error
            }
            own.release()
        } catch {
            guard error.code != .timedOut else {
                throw KeychainError(
                    .vaultBusy, "token \"\(label)\" is in use by another process.", hint: "Wait longer: --timeout 60s",
                    details: ["token": label], cause: error)
            }
            guard access == .reading else { throw error }
            return try body()
        }
        let result = Swift.Result { try body() }
        lock.release()
        return try result.get()
    }

    /// The lock of a token's objects, and that of who is the next to have it.
    private func objectLocks(serial: String) -> (turn: URL, objects: URL) {
        func file(_ name: String) -> URL { root.appendingPathComponent("\(name)-\(serial).lock", isDirectory: false) }
        return (file("turn"), file("objects"))
    }

    /// Removes the locks of a token that is gone.
    func removeObjectLocks(serial: String) {
        let (turn, objects) = objectLocks(serial: serial)
        // They say nothing, and nobody waits for them any more.
        for file in [turn, objects] { unsafe unlink(file.filePath) }
    }
}
