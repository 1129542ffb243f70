import Foundation
import Testing

/// Whether this process has a POSIX lock on a file, as the kernel lists them.
///
/// It lists them page by page, and where others lock and unlock in between it passes over some.
func hasPOSIXLock(on path: String) throws -> Bool {
    for _ in 0..<50 where try isListed(path) { return true }
    return false
}

private func isListed(_ path: String) throws -> Bool {
    let inode = try #require(FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int)
    return try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n").contains {
        let fields = $0.split(separator: " ")
        return fields.contains("POSIX") && fields.contains("\(getpid())")
            && fields.contains { $0.hasSuffix(":\(inode)") }
    }
}
