import CLinux
package import Foundation

/// File systems whose files are never on a disk: tmpfs and ramfs.
package enum MemoryFileSystem {
    /// Whether a directory is in one; `false` where there is no such directory.
    package static func holds(_ path: String) -> Bool {
        // TMPFS_MAGIC and RAMFS_MAGIC of linux/magic.h.
        unsafe [0x0102_1994, 0x8584_58F6].contains(keyfob_filesystem_type(path))
    }

    /// Whether a directory is in one, or will be when it is made.
    package static func willHold(_ url: URL) -> Bool {
        var place = url
        while unsafe access(place.filePath, F_OK) != 0, errno == ENOENT, place.filePath != "/" {
            place = place.deletingLastPathComponent()
        }
        return holds(place.filePath)
    }
}
