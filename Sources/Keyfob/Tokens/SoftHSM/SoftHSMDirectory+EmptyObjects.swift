import CLinux
import Foundation
import KeyfobPrimitives

/// Files that stay empty when a process is killed while SoftHSM creates an object.
extension SoftHSMDirectory {
    /// Removes the object files of a token that no attribute was ever written to. Opens no file.
    ///
    /// SoftHSM lists no object for such a file, so the module cannot remove it. A file that changes within 100 ms
    /// belongs to a running process, and stays. Keyfob's own writers hold the vault's lock.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - start: When the interrupted change began; older files stay. `nil` includes files of any age.
    /// - Throws: `KeychainError` with code `tokenAbsent` or `fileUnavailable`.
    func removeEmptyObjects(of token: SoftHSMToken, since start: Date?) throws(KeychainError) {
        // The kernel's clock for file times lags by some milliseconds.
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
