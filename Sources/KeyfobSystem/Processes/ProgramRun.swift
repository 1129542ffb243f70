import CLinux
package import Foundation
package import KeyfobPrimitives

/// Runs a program to its end, with input and output in files without a name, so that no pipe can fill up.
///
/// For public data, such as requests and certificates.
package enum ProgramRun {
    /// The result of a run.
    package struct Result {
        package let status: Int32
        package let output: Data
    }

    /// Runs `arguments[0]`, looked up in `PATH`. The program shares the standard error of this process.
    ///
    /// Blocks until the program has ended. A program that has to be killed is waited for as in ``ChildProcess/end()``.
    ///
    /// - Parameters:
    ///   - limit: The maximum size of the output in bytes; more is an error.
    ///   - isUsers: Whether it is a program of the user, whose files get the modes of the user's mask
    ///     (``CreationMask``).
    ///   - isStopped: Returns whether the caller still waits; called again and again until the program has ended.
    /// - Throws: `KeychainError`; `fileUnavailable` if the program cannot be started, `timedOut` if it has not ended at
    ///   `deadline`, `dataTooLarge` if it writes more than `limit`, and `cancelled` if it was stopped. In these cases
    ///   it
    ///   is killed, unless the system does not allow that.
    package static func run(
        _ arguments: [String], input: Data = Data(), limit: Int = 16 << 20, isUsers: Bool = false, deadline: Deadline,
        isStopped: () -> Bool = { false }
    ) throws -> Result {
        let reading = try scratchFile()
        let writing = try scratchFile()
        try write(input, to: reading)
        let name = arguments.first ?? "the program"
        var child = try ChildProcess(
            isUsers ? CreationMask.restored(for: arguments) : arguments, input: reading.descriptor,
            output: writing.descriptor, inOwnGroup: !hasTerminal)
        let tooLarge = KeychainError(
            .dataTooLarge, "\(name) wrote more than \(limit >> 20) MiB.", details: ["program": name])
        while true {
            // Checked before the end, so that output that is too long does not fill the disk.
            guard try writing.status().st_size <= limit else { throw tooLarge }
            if let status = child.exitStatus() {
                guard let output = try read(writing, limit) else { throw tooLarge }
                return Result(status: status, output: output)
            }
            guard !isStopped() else { throw KeychainError.stopped }
            guard !deadline.hasPassed else {
                guard !child.end() else {
                    throw KeychainError(
                        .timedOut, "\(name) did not end in time and was killed.", details: ["program": name])
                }
                let number = child.identifier
                throw KeychainError(
                    .timedOut, "\(name) did not end in time, and cannot be killed: process \(number) still runs.",
                    hint: "End it as the user that it runs as, such as: sudo kill \(number)",
                    details: ["program": name, "process": String(number)])
            }
            usleep(2000)
        }
    }

    /// Runs `arguments[0]` without input; it writes to the descriptor `output`.
    ///
    /// Blocks until the program has ended. A program that has to be killed is waited for as in ``ChildProcess/end()``.
    ///
    /// - Returns: The exit status; `nil` if the program had not ended at `deadline` and was killed.
    /// - Throws: `fileUnavailable` if the program cannot be started.
    package static func status(
        of arguments: [String], output: Int32, by deadline: Deadline
    ) throws(KeychainError) -> Int32? {
        guard let null = OpenFile(path: "/dev/null", flags: O_RDONLY) else { throw .file("open", "/dev/null", errno) }
        var child = try ChildProcess(arguments, input: null.descriptor, output: output, inOwnGroup: !hasTerminal)
        return child.exitStatus(by: deadline)
    }

    /// Whether the program gets a process group of its own, in which it can be ended with all that it started. At a
    /// terminal it stays in ours, so that it can ask there.
    private static var hasTerminal: Bool {
        let terminal = unsafe keyfob_open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC, 0)
        if terminal >= 0 { close(terminal) }
        return terminal >= 0
    }

    private static func scratchFile() throws(KeychainError) -> OpenFile {
        let folder = NSTemporaryDirectory()
        let prefix = folder + (folder.hasSuffix("/") ? "" : "/") + "keyfob."
        guard let file = OpenFile(uniqueWithPrefix: prefix, shownAs: folder) else {
            throw .file("write in", folder, errno)
        }
        if let name = file.uniqueName { unsafe unlink(name) }
        return file
    }

    private static func write(_ data: Data, to file: borrowing OpenFile) throws(KeychainError) {
        let bytes = [UInt8](data)
        var position = 0
        while position < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { bytes in
                unsafe pwrite(
                    file.descriptor, bytes.baseAddress.map { unsafe $0 + position }, bytes.count - position, position)
            }
            guard count > 0 || errno == EINTR else { throw .file("write", "a temporary file", errno) }
            position += max(0, count)
        }
    }

    /// The output; `nil` if it is longer than `limit`.
    private static func read(_ file: borrowing OpenFile, _ limit: Int) throws(KeychainError) -> Data? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe pread(file.descriptor, &buffer, buffer.count, bytes.count)
            guard count >= 0 else {
                guard errno == EINTR else { throw .file("read", "a temporary file", errno) }
                continue
            }
            guard count > 0 else { return Data(bytes) }
            bytes += buffer.prefix(count)
            guard bytes.count <= limit else { return nil }
        }
    }
}
