package import Foundation
import Glibc

/// Directories for what nobody need be kept from: certificates, answers to challenges, lines of configuration.
///
/// Our own files are for nobody else, and so would directories be that we make on the way; programs that run as other
/// users must get through these.
package enum PublicDirectory {
    /// Makes a directory, and those above it that are missing, for everybody to read and for nobody else to write.
    /// Those that are there stay as they are. What was made survives a power cut.
    ///
    /// - Throws: `fileUnavailable` or `refused` where one cannot be made.
    package static func make(at url: URL) throws(KeychainError) {
        guard unsafe access(url.filePath, F_OK) != 0 else { return }
        let parent = url.deletingLastPathComponent()
        if parent.filePath != url.filePath { try make(at: parent) }
        guard unsafe mkdir(url.filePath, 0o755) == 0 else {
            // Somebody else was faster, and knows how it shall be.
            guard errno == EEXIST else { throw .file("create", url.filePath, errno) }
            return
        }
        // The mask is ours, for our own files. By its name it may be another's by now: who may write in the directory
        // above can put a link in its place.
        guard let directory = OpenFile(path: url.filePath, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW) else {
            throw .file("open to others", url.filePath, errno)
        }
        guard fchmod(directory.descriptor, 0o755) == 0 else { throw .file("open to others", url.filePath, errno) }
        try OpenFile.synchronizeDirectory(parent.filePath)
    }
}
