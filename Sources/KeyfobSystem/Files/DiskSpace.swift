package import Foundation
import Glibc
import KeyfobPrimitives

/// Whether a file system takes more: for libraries that only say that they failed.
///
/// SoftHSM calls a full disk `CKR_FUNCTION_FAILED`, or forgets the object and calls its handle invalid; SQLite may call
/// it an I/O error.
package enum DiskSpace {
    /// More than a few objects or pages take.
    private static let need = 256 << 10

    /// Why nothing more can be written in a directory; `nil` where it can, or where the directory is missing.
    ///
    /// Found out by writing, to a file without a name afterwards: what a file system says of itself knows nothing of
    /// quotas. Blocks for the write.
    package static func shortage(in directory: URL) -> KeychainError? {
        let path = directory.filePath
        guard let file = OpenFile(uniqueWithPrefix: path + "/.room-", shownAs: path) else {
            return errno == ENOENT ? nil : .file("write", path, errno)
        }
        if let name = file.uniqueName { unsafe unlink(name) }
        do throws(KeychainError) {
            try file.write(SecretBytes(repeatElement(0, count: need)))
            // Some network file systems say so only now.
            try file.synchronize()
            return nil
        } catch {
            return error
        }
    }

    /// The same as an error of whatever failed for it.
    ///
    /// - Parameters:
    ///   - details: What is known of the failure.
    ///   - cause: The failure.
    package static func shortage(
        in directory: URL, details: [String: String], cause: any Error
    ) -> KeychainError? {
        shortage(in: directory).map { $0.with(details: $0.details.merging(details) { $1 }, cause: cause) }
    }
}
