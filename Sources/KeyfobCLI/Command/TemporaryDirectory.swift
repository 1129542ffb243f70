import Glibc
import Keyfob

/// Directories for the time of a command, which only its user may enter.
enum TemporaryDirectory {
    /// Makes one; `mkdtemp` (POSIX.1-2008).
    ///
    /// - Parameter prefix: How its name begins.
    /// - Returns: Its path, short, for the sockets of agents live in such directories too, and their paths are limited
    ///   to 107 bytes.
    /// - Throws: `KeychainError.fileUnavailable`.
    static func make(in parent: String, prefix: String = "keyfob-") throws -> String {
        // mkdtemp(3) replaces the six letters by six of its own.
        var template = Array((parent + "/" + prefix + "XXXXXX").utf8CString)
        guard let made = unsafe mkdtemp(&template) else {
            throw KeychainError(
                .fileUnavailable, "\(parent) takes no directory: \(unsafe String(cString: strerror(errno))).")
        }
        return unsafe String(cString: made)
    }
}
