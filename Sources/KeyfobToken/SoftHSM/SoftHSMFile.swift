import CLinux
package import Foundation
package import KeyfobPrimitives

/// The content of a `token.object` that SoftHSM may have locked.
///
/// SoftHSM coordinates processes with fcntl(2) locks. The kernel releases such a lock when its process closes any
/// descriptor of the file. So while SoftHSM runs in this process, head(1) reads the file in a process of its own, which
/// costs about 2 ms.
package struct SoftHSMFile {
    /// The result of lstat(2).
    package let status: stat
    package let bytes: SecretBytes

    /// Reads up to `limit` bytes; `nil` if the file does not exist. Blocks.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - isCopy: Whether the file is one of Keyfob's copies, which SoftHSM does not use.
    ///   - limit: The maximum number of bytes.
    /// - Throws: `KeychainError` with code `unsafeFile` for a symbolic link; `fileUnavailable`.
    package init?(_ path: String, isCopy: Bool = false, limit: Int) throws(KeychainError) {
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
        // If no other process can be started, read the file here: losing a lock is better than losing a token.
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
        // On any failure the caller reads the file itself.
        let arguments = ["head", "-c", String(limit), "--", path]
        guard let result = try? ProgramRun.run(arguments, deadline: .after(.seconds(2))), result.status == 0 else {
            return nil
        }
        return SecretBytes([UInt8](result.output.prefix(limit)))
    }
}
