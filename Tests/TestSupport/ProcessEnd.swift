import Foundation
public import Glibc

/// Returns whether a process ends within a minute; a process that its parent has not waited for is a zombie, which
/// counts as ended.
public func hasEnded(_ process: pid_t) -> Bool {
    for _ in 0..<6000 {
        guard let status = FileManager.default.contents(atPath: "/proc/\(process)/stat"),
            let state = String(decoding: status, as: UTF8.self).split(separator: ")").last?.first(where: { $0 != " " })
        else { return true }
        if state == "Z" || state == "X" { return true }
        usleep(10_000)
    }
    return false
}
