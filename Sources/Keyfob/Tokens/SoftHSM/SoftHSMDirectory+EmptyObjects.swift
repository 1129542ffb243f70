import CLinux
import Foundation
import KeyfobPrimitives

/// Files that a process leaves empty when it is killed while SoftHSM makes an object.
extension SoftHSMDirectory {
    /// Removes the object files of a token in which no attribute was ever written. Opens no file.
    ///
    /// SoftHSM lists no object for such a file, so the module cannot be asked to remove it. A file that changes within
    /// 100 ms belongs to a process that is alive, and stays. Keyfob's own writers hold the vault's lock.
    ///
    /// - Parameter start: When the interrupted change began: older files stay. `nil` takes in every file.
    /// - Throws: `tokenAbsent`, `fileUnavailable`.
    func removeEmptyObjects(of token: SoftHSMToken, since start: Date?) throws(KeychainError) {
        // The kernel stamps files with a clock that runs some milliseconds behind.
        let earliest: Int64 = start.map { Int64(($0.timeIntervalSince1970 - 2) * 1e9) } ?? Int64.min
        let empty = try ObjectListing(of: token).files.filter { $0.value.isEmpty && $0.value.modified >= earliest }
        guard !empty.isEmpty else { return }
        usleep(100_000)
        let now = try ObjectListing(of: token).files
        for (name, entry) in empty where now[name] == entry {
            let path = token.directory.filePath + "/" + name
            let lock = String(path.dropLast("object".count)) + "lock"
            if unsafe unlink(path) == 0 { unsafe unlink(lock) }
        }
    }
}
