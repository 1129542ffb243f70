import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// Where a command writes a file: `-o FILE`, or standard output without one.
struct FileDestination {
    let path: String?
    let mode: mode_t
    /// `--timeout`, where it was given: how long whoever is to read a FIFO is waited for.
    var timeout: TimeSpan?

    /// Whether what is written goes there: a sentence about it would be taken for a part of it.
    ///
    /// - Throws: `KeychainError` for a path whose links lead nowhere.
    var isStandardOutput: Bool {
        get throws(KeychainError) {
            guard let path, path != "-" else { return true }
            if case .descriptor(STDOUT_FILENO) = try FileTarget(path) { return true }
            return false
        }
    }

    /// Replaces the file in one step: who reads it sees the old content or the new.
    ///
    /// - Returns: Whether that changed anything: not where the file had this content, nor on a standard stream.
    /// - Throws: `KeychainError`: `fileUnavailable`, `refused` where that is not allowed, `diskFull`, `timedOut` where
    ///   nobody reads a FIFO.
    @discardableResult
    func write(_ bytes: SecretBytes, isPrivateKey: Bool = false, force: Bool = false) throws -> Bool {
        guard let path, try !isStandardOutput else {
            try SensitiveOutput.write(bytes, isPrivateKey: isPrivateKey, force: force)
            return false
        }
        switch try FileTarget(path) {
        case .descriptor(STDERR_FILENO):
            try unsafe bytes.withUnsafeBytes { try unsafe FileDescriptor.writeAll($0, to: STDERR_FILENO) }
            return false
        case .descriptor(let descriptor):
            // Nobody may have opened it but Keyfob itself, for its vault.
            throw KeychainError(
                .refused, "\(Visible.text(path)) is no file.", hint: "Leave -o out and redirect: >&\(descriptor)",
                details: ["file": path])
        case .stream(let path):
            let deadline = timeout.map { Deadline.after($0.duration) } ?? .never
            try openStream(path, by: deadline).write(bytes, by: deadline)
            return true
        case .file(let path):
            let isChange = !Self.holds(path, bytes)
            // All the same: its mode may be another.
            try OpenFile.replace(path, with: bytes, mode: mode)
            return isChange
        }
    }

    /// Opens what is no file. Of a FIFO that nobody reads, opening waits for somebody who does; with `--timeout` until
    /// `deadline`.
    private func openStream(_ path: String, by deadline: Deadline) throws(KeychainError) -> OpenFile {
        var status = stat()
        let isFIFO = unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
        guard isFIFO, let timeout else {
            guard let file = OpenFile(path: path, flags: O_WRONLY) else { throw .file("write", path, errno) }
            return file
        }
        while true {
            if let file = OpenFile(path: path, flags: O_WRONLY | O_NONBLOCK) { return file }
            guard errno == ENXIO else { throw .file("write", path, errno) }
            guard !deadline.hasPassed else {
                throw KeychainError(
                    .timedOut, "nobody has read \(path) within \(timeout.inSeconds); nothing was written.",
                    hint: "Start what is to read it, such as cat(1), or give it more time: --timeout 60s",
                    details: ["path": path])
            }
            // Nothing tells of a reader but trying.
            usleep(10_000)
        }
    }

    /// Whether the file at `path` has this content. What cannot be read is taken for another.
    private static func holds(_ path: String, _ bytes: SecretBytes) -> Bool {
        guard let file = OpenFile(path: path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else { return false }
        return (try? file.read(limit: bytes.count + 1)) == bytes
    }
}
