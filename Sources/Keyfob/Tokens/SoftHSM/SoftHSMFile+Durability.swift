import CLinux
import Foundation

/// Having files of SoftHSM's on the disk, which it leaves to the kernel.
extension SoftHSMFile {
    /// Waits until the content of files is on the disk: by one child for all of them, for the reason that a look has
    /// one.
    ///
    /// A file that is gone is passed over. There is nothing of it to be kept, and who has removed it since could have
    /// done so a moment later, too.
    ///
    /// - Throws: `fileUnavailable` where the disk fails; `diskFull` where it finds out now that there is no room;
    ///   `refused`.
    static func synchronize(_ paths: [String]) throws(KeychainError) {
        var rest = paths[...]
        while !rest.isEmpty {
            let (done, number) = attempt(rest)
            rest = rest.dropFirst(done)
            guard number != 0, let failed = rest.popFirst() else { return }
            guard number == ENOENT else { throw .file("write", failed, number) }
        }
    }

    /// How many files are on the disk, from the first on, and what errno was at the one behind these; 0 for none.
    private static func attempt(_ paths: ArraySlice<String>) -> (done: Int, number: Int32) {
        var names: [CChar] = []
        for path in paths { names += path.utf8CString }
        var sync = unsafe keyfob_file_sync()
        unsafe names.withUnsafeBufferPointer { names in
            unsafe sync.paths = names.baseAddress
            unsafe sync.count = paths.count
            // Where there are no more processes to have, a lock that may be lost is better than an object that may be.
            let isApart = unsafe SoftHSMPresence.mayBeInUse && keyfob_sync_files_apart(&sync) == 0
            if !isApart { _ = unsafe keyfob_sync_files(&sync) }
            unsafe sync.paths = nil
        }
        return unsafe (sync.done, sync.error)
    }
}
