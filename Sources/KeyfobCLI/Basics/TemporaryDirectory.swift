import Glibc
import Keyfob

/// Temporary directories that only their user can access.
enum TemporaryDirectory {
    /// Creates a directory with mkdtemp(3).
    ///
    /// - Parameter prefix: The start of its name.
    /// - Returns: The path. It is short, because agents put sockets there, whose paths are limited to 107 bytes.
    /// - Throws: `KeychainError.fileUnavailable`.
    static func make(in parent: String, prefix: String = "keyfob-") throws -> String {
        // mkdtemp(3) replaces the six letters.
        var template = Array((parent + "/" + prefix + "XXXXXX").utf8CString)
        guard let made = unsafe mkdtemp(&template) else {
            throw KeychainError(
                .fileUnavailable, "cannot create a directory in \(parent): \(unsafe String(cString: strerror(errno))).")
        }
        return unsafe String(cString: made)
    }
}
