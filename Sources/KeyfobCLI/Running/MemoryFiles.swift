import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// Secrets as files of a program: files in private memory, and links to them at the paths that the user chose.
///
/// Files in a directory, not descriptors of memfd_create(2): programs such as ssh and sudo close all descriptors that
/// they did not open. What is on a disk is only the link.
///
/// If this process is killed, the files stay in memory while the program runs. The next command that uses such files,
/// and `keyfob lock`, wipe them after that.
struct MemoryFiles: ~Copyable {
    private let directory: ScratchDirectory
    private var links: [(path: String, target: String)] = []

    /// Creates the private directory, after the directories of killed processes were wiped.
    ///
    /// - Throws: `KeychainError.refused` if there is no file system in memory.
    init() throws {
        ScratchDirectory.sweep()
        directory = try ScratchDirectory(for: .run)
    }

    deinit {
        for (path, target) in links where Self.target(of: path) == target { unsafe unlink(path) }
    }

    /// The descriptor whose lock shows that the files are in use.
    var lock: Int32 { directory.lock }

    /// Makes a secret readable at `path`.
    ///
    /// - Throws: `KeychainError.refused` if there is a file already; `fileUnavailable` if the link cannot be made.
    mutating func add(_ secret: SecretBytes, at path: String) throws {
        let name = path.split(separator: "/").last.map(String.init) ?? "file"
        let target = try directory.write(secret, to: "\(links.count + 1)-\(name)")
        // Made again after a link of a killed process was removed.
        for _ in 0..<2 {
            if unsafe symlink(target, path) == 0 {
                links.append((path, target))
                return
            }
            guard errno == EEXIST else { throw KeychainError.file("write", path, errno) }
            guard Self.isLeft(path) else { throw Self.exists(path) }
            unsafe unlink(path)
        }
        throw Self.exists(path)
    }

    private static func exists(_ path: String) -> KeychainError {
        KeychainError(
            .refused, "\(TerminalSafe.text(path)) exists; no file is replaced.",
            hint: "Give --file a path where there is nothing.", details: ["path": path])
    }

    /// Whether a path is a link of a killed process whose file is gone.
    private static func isLeft(_ path: String) -> Bool {
        guard let target = target(of: path), unsafe access(target, F_OK) != 0 else { return false }
        return ScratchDirectory.candidates.contains { target.hasPrefix($0 + "/" + ScratchDirectory.Use.run.prefix) }
    }

    private static func target(of path: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe buffer.withUnsafeMutableBytes { buffer in
            unsafe readlink(path, buffer.bindMemory(to: CChar.self).baseAddress!, buffer.count)  // Not empty.
        }
        return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
    }
}
