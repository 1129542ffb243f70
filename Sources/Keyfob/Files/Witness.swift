import CLinux
import Foundation

/// An empty file that is there for as long as something is under way: it tells what a kill has left of that from what
/// came out of a backup.
///
/// The time at which a file was last changed (`st_ctime`) is the kernel's: no program that puts files back can set it.
/// So what is noted of a change with a witness that is missing, or is of another time than the note says, was not left
/// here by a kill.
struct Witness {
    /// Where it lies while it is there.
    let path: String

    /// Makes it, and has it on the disk before it returns. Blocks for the sync.
    ///
    /// - Returns: When the kernel says that it was changed, in seconds since 1970: a fraction does not outlast a
    ///   restart on every file system.
    /// - Throws: `refused`, `diskFull` or `fileUnavailable`.
    func make() throws(KeychainError) -> Int {
        guard let file = OpenFile(path: path, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW) else {
            throw .file("create", path, errno)
        }
        do throws(KeychainError) {
            try file.synchronize()
            let url = URL(fileURLWithPath: path, isDirectory: false)
            try PrivateFile.synchronizeDirectory(url.deletingLastPathComponent())
            return try file.status().st_ctim.tv_sec
        } catch {
            remove()
            throw error
        }
    }

    /// Whether it is the file that `make` made then.
    func isOriginal(of time: Int) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_ctim.tv_sec == time
    }

    /// Removes it, once nothing is under way any more.
    func remove() { unsafe unlink(path) }
}
