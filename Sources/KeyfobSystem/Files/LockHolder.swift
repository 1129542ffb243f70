import Foundation
import Glibc

/// Who has a lock: his name and process, which lie in the lock's file for the message to those who wait.
package enum LockHolder {
    /// Writes this process into the file of a lock that it has. A file that cannot be written names nobody.
    package static func record(in descriptor: Int32) {
        guard ftruncate(descriptor, 0) == 0 else { return }
        let holder = "\(ProcessInfo.processInfo.processName) (pid \(getpid()))"
        _ = unsafe holder.withCString { unsafe pwrite(descriptor, $0, strlen($0), 0) }
    }

    /// Who has written himself into the file; `nil` where that cannot be told, or where it is somebody who is no more:
    /// then another process has the lock, such as one that is none of Keyfob's.
    package static func name(in path: String) -> String? {
        // The file is for people's eyes only; without it the message names no holder.
        guard let text = try? String(contentsOfFile: path, encoding: .utf8), !text.isEmpty else { return nil }
        let number = text.split(separator: " ").last.flatMap { pid_t($0.filter(\.isNumber)) }
        guard let number, kill(number, 0) == 0 || errno == EPERM else { return nil }
        return text
    }
}
