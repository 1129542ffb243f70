package import Foundation
import Glibc

/// Directories for public data: certificates, answers to challenges, configuration.
///
/// Programs of other users must be able to search them, although the umask of the command is strict.
package enum PublicDirectory {
    /// Creates a directory and missing parents with mode 0755. Existing directories are not changed.
    ///
    /// The new directories survive a power cut.
    ///
    /// - Throws: `fileUnavailable` or `refused` if one cannot be created.
    package static func make(at url: URL) throws(KeychainError) {
        guard unsafe access(url.filePath, F_OK) != 0 else { return }
        let parent = url.deletingLastPathComponent()
        if parent.filePath != url.filePath { try make(at: parent) }
        guard unsafe mkdir(url.filePath, 0o755) == 0 else {
            // Another process was faster.
            guard errno == EEXIST else { throw .file("create", url.filePath, errno) }
            return
        }
        // The umask has removed bits. By descriptor, since a user who can write the parent can put a link in its place.
        guard let directory = OpenFile(path: url.filePath, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW) else {
            throw .file("open to others", url.filePath, errno)
        }
        guard fchmod(directory.descriptor, 0o755) == 0 else { throw .file("open to others", url.filePath, errno) }
        try OpenFile.synchronizeDirectory(parent.filePath)
    }
}
