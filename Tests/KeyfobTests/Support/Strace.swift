import Foundation
import TestSupport
import Testing

/// strace(1), which reports what a child has the kernel write to the disk, or makes some of that fail.
struct Strace {
    /// One file or directory that was synced.
    struct Sync {
        /// The thread or process that synced it.
        let thread: String
        /// The file, as the kernel identifies it.
        let path: String
    }

    /// The command under which a child runs.
    let command: [String]
    private let directory: TemporaryDirectory

    /// - Parameter failing: The file or directory of which each sync fails; with `nil`, none does.
    init(failing path: String? = nil) throws {
        directory = try TemporaryDirectory()
        let options = path.map { ["trace=fsync,syncfs", "-P", $0, "-e", "inject=fsync,syncfs:error=EIO"] }
        command = ["strace", "-f", "-o", directory.file("log"), "-e"]
            + (options ?? ["trace=fsync,fdatasync,syncfs,write", "-y"])
    }

    /// The files that were synced before the child's first output, in order.
    func syncs(before word: String) throws -> [Sync] {
        let lines = String(decoding: try directory.read("log"), as: UTF8.self).split(separator: "\n")
        let end = try #require(lines.firstIndex { $0.contains("\"\(word)\\n\"") }, "the child did not say \(word)")
        return lines[..<end].compactMap { line in
            guard [" fsync(", " fdatasync(", " syncfs("].contains(where: line.contains), let start = line.firstIndex(of: "<"),
                let end = line[start...].firstIndex(of: ">")
            else { return nil }
            let thread = String(line.prefix { $0 != " " })
            return Sync(thread: thread, path: String(line[start..<end].dropFirst()))
        }
    }

    /// The number of syncs that failed.
    func failures() throws -> Int {
        String(decoding: try directory.read("log"), as: UTF8.self).split(separator: "\n")
            .count { $0.contains("(INJECTED)") }
    }
}
