import Foundation
import Glibc

/// The name and process id of the holder of a lock, written into the lock file for the messages of waiting processes.
package enum LockHolder {
    /// Writes this process into the file of a lock that it holds. A file that cannot be written names no process.
    package static func record(in descriptor: Int32) {
        guard ftruncate(descriptor, 0) == 0 else { return }
        let holder = "\(ProcessInfo.processInfo.processName) (pid \(getpid()))"
        _ = unsafe holder.withCString { unsafe pwrite(descriptor, $0, strlen($0), 0) }
    }

    /// The process that has written itself into the file.
    ///
    /// - Returns: `nil` if it is not known or has ended. Another process then holds the lock, perhaps not one of
    ///   Keyfob's.
    package static func name(in path: String) -> String? {
        // Only for messages; without the file they name no holder.
        guard let text = try? String(contentsOfFile: path, encoding: .utf8), !text.isEmpty else { return nil }
        let number = text.split(separator: " ").last.flatMap { pid_t($0.filter(\.isNumber)) }
        guard let number, kill(number, 0) == 0 || errno == EPERM else { return nil }
        return text
    }
}
