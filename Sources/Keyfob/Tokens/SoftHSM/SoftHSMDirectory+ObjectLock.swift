import CLinux
import Foundation
import KeyfobPrimitives

/// Readers and writers of a token's objects.
///
/// SoftHSM makes an object in some thirty steps, and rewrites the object's file in each. A process that reads an
/// object's attributes before it is complete writes to it as well: the default of each attribute that it does not find,
/// with everything else that it has seen of the object. A private key has been lost that way, without an error in
/// either process. Therefore no process of Keyfob reads unknown objects while another one makes some. Other programs
/// do not know the lock; see `TokenStore.requireFinished(_:)`.
extension SoftHSMDirectory {
    /// What a thread does with objects.
    enum ObjectAccess { case reading, writing }

    /// The file that holds two locks for each token, as locks of byte ranges.
    private var objectLockFile: URL { root.appendingPathComponent("objects.lock", isDirectory: false) }

    /// Runs `body` while no other process of Keyfob writes objects of a token, or, to write some, reads or writes any.
    ///
    /// A waiting writer holds the token's second lock, the turn, which later readers and writers have to take first.
    /// Without it readers could keep a writer waiting for ever. A process without write permission reads without the
    /// lock, since it cannot damage the token's files.
    ///
    /// - Throws: `KeychainError`; `vaultBusy` at `deadline`, `fileUnavailable` for a writer; what `body` throws.
    func holdingObjects<Result>(
        serial: String, label: String, _ access: ObjectAccess, deadline: Deadline, _ body: () throws -> Result
    ) throws -> Result {
        let path = objectLockFile.filePath
        guard let file = OpenFile(path: path, flags: O_RDWR | O_CREAT | O_NOFOLLOW) else {
            guard access == .reading else { throw KeychainError.file("lock", path, errno) }
            return try body()
        }
        // A serial number of SoftHSM has 16 hexadecimal digits. A wrong one only shares its lock with another token.
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

    /// Sets a lock of one byte that belongs to the open file, as one of flock(2) does: fcntl(2), open file description
    /// locks.
    ///
    /// - Throws: `timedOut` at `deadline`; `fileUnavailable` if the file system has no such locks.
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

    /// By name: a child that was forked meanwhile has the descriptor, too, and would keep the lock.
    private static func unlock(_ file: borrowing OpenFile, _ offset: Int64) {
        // To give a lock back cannot fail, and the kernel drops it with the descriptor.
        try? lock(file, offset, F_UNLCK, until: .after(.zero))
    }
}
