import CLinux
import Foundation
import KeyfobPrimitives

/// A look at a file that SoftHSM may have locked.
///
/// SoftHSM keeps processes apart by locks of fcntl(2). The kernel takes such a lock from a process that closes any
/// descriptor of the file. Where another thread may be inside of SoftHSM, the look is taken by a child, which has
/// descriptors of its own; that costs 50 microseconds at best, and milliseconds where the child waits for a core.
struct SoftHSMFile {
    /// What fstat(2) says.
    let status: stat
    /// As much of the content as was asked for.
    let bytes: SecretBytes
    /// Whether a process holds SoftHSM's lock on it; this one's count where a child looked.
    let isLocked: Bool

    /// Reads up to `limit` bytes. Blocks; `nil` where there is no such file.
    ///
    /// - Throws: `unsafeFile` for a symbolic link; `fileUnavailable`; `refused`.
    init?(_ path: String, limit: Int) throws(KeychainError) {
        var status = stat()
        // What the file's length says is where to begin: it may grow meanwhile, or be the largest number.
        let length = unsafe lstat(path, &status) == 0 ? max(0, Int(status.st_size)) : 0
        var capacity = min(limit - 1, length) + 1
        while true {
            let (look, bytes) = unsafe Self.look(path, capacity)
            switch unsafe look.error {
            case 0: break
            case ENOENT: return nil
            case ELOOP:
                throw KeychainError(
                    .unsafeFile, "\(path) is a symbolic link.", hint: "Use a file of your own, mode 0600.",
                    details: ["path": path])
            default: throw unsafe .file("read", path, look.error)
            }
            guard unsafe look.count == capacity, capacity < limit else {
                self.status = unsafe look.status
                self.bytes = unsafe bytes.prefix(look.count)
                isLocked = unsafe look.is_locked != 0
                return
            }
            capacity = min(limit, capacity * 2)
        }
    }

    /// Whether a process holds SoftHSM's lock on a file; false where there is no such file. - Throws: As `init`.
    static func isLocked(_ path: String) throws(KeychainError) -> Bool {
        try SoftHSMFile(path, limit: 0)?.isLocked ?? false
    }

    private static func look(_ path: String, _ capacity: Int) -> (keyfob_file_look, SecretBytes) {
        var look = unsafe keyfob_file_look()
        let bytes = unsafe SecretBytes(count: capacity) { buffer in
            unsafe path.withCString { path in
                unsafe look.path = unsafe path
                unsafe look.bytes = UnsafeMutableRawPointer(buffer.baseAddress)
                unsafe look.capacity = buffer.count
                // Where there are no more processes to have, a lock that may be lost is better than no token.
                let isApart = unsafe SoftHSMPresence.mayBeInUse && keyfob_look_at_file_apart(&look) == 0
                if !isApart { _ = unsafe keyfob_look_at_file(&look) }
                unsafe look.path = nil
                unsafe look.bytes = nil
            }
        }
        return unsafe (look, bytes)
    }
}
