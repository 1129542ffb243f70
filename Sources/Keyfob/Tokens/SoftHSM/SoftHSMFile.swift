import CLinux
import Foundation
import KeyfobPrimitives

/// The content of a `token.object` that SoftHSM may have locked.
///
/// SoftHSM keeps processes apart by locks of fcntl(2). The kernel takes such a lock from a process that closes any
/// descriptor of the file. While SoftHSM runs in this process, head(1) therefore reads the file, in a process of its
/// own, which costs about 2 ms.
struct SoftHSMFile {
    /// The result of lstat(2).
    let status: stat
    let bytes: SecretBytes

    /// Reads up to `limit` bytes. Blocks; `nil` if the file does not exist.
    ///
    /// - Parameter isCopy: Whether the file is a copy of ours, which SoftHSM does not use.
    /// - Throws: `unsafeFile` for a symbolic link; `fileUnavailable`.
    init?(_ path: String, isCopy: Bool = false, limit: Int) throws(KeychainError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else {
            guard errno == ENOENT || errno == ENOTDIR else { throw .file("read", path, errno) }
            return nil
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFLNK:
            throw KeychainError(
                .unsafeFile, "\(path) is a symbolic link.", hint: "Use a file of your own, mode 0600.",
                details: ["path": path])
        default: throw .file("read", path, EINVAL)
        }
        self.status = status
        // A process that cannot start another one reads the file itself: a lost lock is better than a lost token.
        if !isCopy, SoftHSMPresence.mayBeInUse, let bytes = Self.readInChild(path, limit) {
            self.bytes = bytes
            return
        }
        guard let file = OpenFile(path: path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else {
            guard errno == ENOENT else { throw .file("read", path, errno) }
            return nil
        }
        bytes = try file.read(limit: limit)
    }

    private static func readInChild(_ path: String, _ limit: Int) -> SecretBytes? {
        // Any failure is met again by the caller, which then reads the file itself.
        let arguments = ["head", "-c", String(limit), "--", path]
        guard let result = try? ProgramRun.run(arguments, deadline: .after(.seconds(2))), result.status == 0 else {
            return nil
        }
        return SecretBytes([UInt8](result.output.prefix(limit)))
    }
}
