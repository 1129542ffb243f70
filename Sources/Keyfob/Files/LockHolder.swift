import Foundation

/// Who has a lock: his name and process, which lie in the lock's file for the message to those who wait.
enum LockHolder {
    /// Writes this process into the file of a lock that it has. A file that cannot be written names nobody.
    static func record(in descriptor: Int32) {
        guard ftruncate(descriptor, 0) == 0 else { return }
        let holder = "\(ProcessInfo.processInfo.processName) (pid \(getpid()))"
        _ = unsafe holder.withCString { unsafe pwrite(descriptor, $0, strlen($0), 0) }
    }

    /// Who has written himself into the file; `nil` where that cannot be told.
    static func name(in path: String) -> String? {
        // The file is for people's eyes only; without it the message names no holder.
        (try? String(contentsOfFile: path, encoding: .utf8)).flatMap { $0.isEmpty ? nil : $0 }
    }
}
