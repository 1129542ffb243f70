import CLinux
import Foundation
package import KeyfobPrimitives

/// The lock for readers and writers of a token's objects.
///
/// SoftHSM creates an object in some thirty steps, and rewrites the object's file in each. A process that reads the
/// attributes of an incomplete object also writes to its file: it adds a default for each missing attribute, along with
/// everything else it has read of the object. A private key has been lost that way, without an error in either process.
/// So no Keyfob process reads unknown objects while another one creates objects. Other programs do not know the lock;
/// see `TokenStore.requireFinished(_:)`.
extension SoftHSMDirectory {
    /// The kind of access to the objects.
    package enum ObjectAccess { case reading, writing }

    /// The file with two byte-range locks for each token.
    private var objectLockFile: URL { root.appendingPathComponent("objects.lock", isDirectory: false) }

    /// Runs `body` with a shared lock on the objects of a token for reading, or an exclusive lock for writing.
    ///
    /// A waiting writer holds the token's second lock, the turnstile, which later readers and writers have to take
    /// first. Without it readers could starve a writer. A process without write permission reads without the lock,
    /// since it cannot damage the token's files.
    ///
    /// - Parameters:
    ///   - serial: The token's serial number.
    ///   - label: The token's label, for messages.
    ///   - access: Whether `body` reads or writes objects.
    ///   - deadline: The limit for waiting for the lock.
    ///   - body: The work.
    /// - Returns: The result of `body`.
    /// - Throws: `KeychainError` with code `vaultBusy` at `deadline`, `fileUnavailable` for a writer; errors of `body`.
    package func holdingObjects<Result>(
        serial: String, label: String, _ access: ObjectAccess, deadline: Deadline, _ body: () throws -> Result
    ) throws -> Result {
        let path = objectLockFile.filePath
        guard let file = OpenFile(path: path, flags: O_RDWR | O_CREAT | O_NOFOLLOW) else {
            guard access == .reading else { throw KeychainError.file("lock", path, errno) }
            return try body()
        }
        // SoftHSM's serial numbers have 16 hexadecimal digits. A different format only shares its lock with other
        // tokens.
        let turn = Int64((UInt64(serial, radix: 16) ?? 0) & 0x3FFF_FFFF_FFFF_FFFE)
        let objects = turn + 1
        do throws(KeychainError) {
            try Self.lock(file, turn, F_WRLCK, until: deadline)
            try Self.lock(file, objects, access == .writing ? F_WRLCK : F_RDLCK, until: deadline)
            try Self.lock(file, turn, F_UNLCK, until: deadline)
        } catch {
            Self.unlock(file, turn)
            guard error.code != .timedOut else {
                throw KeychainError(
                    .vaultBusy, "token \"\(label)\" is in use by another process.",
                    remedies: [Remedy("Wait longer", .change(.timeout))],
                    details: ["token": label], cause: error)
            }
            guard access == .reading else { throw error }
            return try body()
        }
        let result = Swift.Result { try body() }
        Self.unlock(file, objects)
        return try result.get()
    }

    /// Sets a lock on one byte that belongs to the open file description, like a lock of flock(2); see fcntl(2).
    ///
    /// - Throws: `KeychainError` with code `timedOut` at `deadline`; `fileUnavailable` if the file system does not
    ///   support such locks.
    private static func lock(
        _ file: borrowing OpenFile, _ offset: Int64, _ type: Int32, until deadline: Deadline
    ) throws(KeychainError) {
        // F_OFD_SETLK, which glibc declares only with _GNU_SOURCE.
        let command: Int32 = 37
        var lock = flock()
        (lock.l_type, lock.l_whence) = (Int16(type), Int16(SEEK_SET))
        (lock.l_start, lock.l_len) = (Int(offset), 1)
        var pause: UInt32 = 500
        while unsafe fcntl(file.descriptor, command, &lock) != 0 {
            guard [EAGAIN, EACCES, EINTR].contains(errno) else { throw .file("lock", file.path, errno) }
            guard !deadline.hasPassed else {
                throw KeychainError(
                    .timedOut, "another process holds \(file.path).", hint: "Try again when it has ended.")
            }
            usleep(pause)
            pause = min(pause * 2, 20_000)
        }
    }

    /// Unlocks explicitly: a child process forked in the meantime has inherited the descriptor and would keep the lock.
    private static func unlock(_ file: borrowing OpenFile, _ offset: Int64) {
        // Unlocking cannot fail in practice, and the kernel releases the lock with the descriptor.
        try? lock(file, offset, F_UNLCK, until: .after(.zero))
    }
}
