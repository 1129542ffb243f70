import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// The destination of a file that a command writes: `-o FILE`, or standard output.
struct FileDestination {
    let path: String?
    let mode: mode_t
    /// The value of `--timeout`, if given; limits the wait for the reader of a FIFO.
    var timeout: TimeSpan?

    /// Whether the output goes to standard output. If so, no sentence is printed, because it would become part of the
    /// output.
    ///
    /// - Throws: `KeychainError` if the links of the path cannot be followed.
    var isStandardOutput: Bool {
        get throws(KeychainError) {
            guard let path, path != "-" else { return true }
            if case .descriptor(STDOUT_FILENO) = try FileTarget(path) { return true }
            return false
        }
    }

    /// Determines what writing these bytes does to the file.
    ///
    /// - Parameter bytes: The content; `nil` if it is not known in advance and differs from that of every file.
    /// - Returns: `none` for a standard stream, or for unchanged content and mode.
    /// - Throws: `KeychainError.refused` if the target must not be written; `fileUnavailable` if the links of the path
    ///   cannot be followed.
    func action(of bytes: SecretBytes?) throws -> Effect.Action {
        guard let path, try !isStandardOutput else { return .none }
        switch try FileTarget(path) {
        case .descriptor(STDERR_FILENO): return .none
        case .descriptor(let descriptor): throw Self.refusal(path, descriptor)
        case .stream: return .update
        case .file(let path):
            if let bytes, isSame(path, bytes) { return .none }
            return FileManager.default.fileExists(atPath: path) ? .update : .create
        }
    }

    /// The error for a descriptor: Keyfob itself may have opened it, for its vault.
    private static func refusal(_ path: String, _ descriptor: Int32) -> KeychainError {
        KeychainError(
            .refused, "\(TerminalSafe.text(path)) is not a file.",
            hint: "Leave -o out and redirect: >&\(descriptor)", details: ["file": path])
    }

    /// Replaces the file atomically: readers see the old content or the new.
    ///
    /// - Returns: What was done; `none` for a standard stream, or for unchanged content and mode.
    /// - Throws: `KeychainError.fileUnavailable`; `refused` if the target must not be written; `diskFull`; `timedOut`
    ///   if a FIFO has no reader.
    @discardableResult
    func write(_ bytes: SecretBytes, isPrivateKey: Bool = false, force: Bool = false) throws -> Effect.Action {
        guard let path, try !isStandardOutput else {
            try SensitiveOutput.write(bytes, isPrivateKey: isPrivateKey, force: force)
            return .none
        }
        switch try FileTarget(path) {
        case .descriptor(STDERR_FILENO):
            try unsafe bytes.withUnsafeBytes { try unsafe FileDescriptor.writeAll($0, to: StandardError.descriptor) }
            return .none
        case .descriptor(let descriptor): throw Self.refusal(path, descriptor)
        case .stream(let path):
            let deadline = timeout.map { Deadline.after($0.duration) } ?? .never
            try openStream(path, by: deadline).write(bytes, by: deadline)
            return .update
        case .file(let path):
            let action = try action(of: bytes)
            // Replaced even if content and mode are the same, because the owner may differ.
            try OpenFile.replace(path, with: bytes, mode: mode)
            return action
        }
    }

    /// Opens a device, pipe or socket. Opening a FIFO waits for a reader; with `--timeout` until `deadline`.
    ///
    /// - Throws: `KeychainError.fileUnavailable`; `timedOut` if a FIFO has no reader.
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
                    .timedOut, "no program read \(path) within \(timeout.inSeconds); nothing was written.",
                    hint: "Start the program that reads it, or wait longer: --timeout 60s",
                    details: ["path": path])
            }
            // There is no notification of a reader, so opening is retried.
            usleep(10_000)
        }
    }

    /// Whether the file at `path` has this content and the mode; `false` if it cannot be read.
    private func isSame(_ path: String, _ bytes: SecretBytes) -> Bool {
        guard let file = OpenFile(path: path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let status = try? file.status(), status.st_mode & 0o7777 == mode
        else { return false }
        return (try? file.read(limit: bytes.count + 1)) == bytes
    }
}
