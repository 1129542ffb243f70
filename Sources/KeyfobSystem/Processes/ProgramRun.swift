import CLinux
package import Foundation
package import KeyfobPrimitives

/// A program that is run to its end, with what it is to read and what it wrote.
///
/// Input and output are files without a name: no pipe can fill up, whatever the program does first. For public
/// matter, such as requests and certificates.
package enum ProgramRun {
    /// What came of it.
    package struct Result {
        package let status: Int32
        package let output: Data
    }

    /// Runs `arguments[0]`, looked up in `PATH`; its standard error is ours.
    ///
    /// Blocks until it has ended, and as ``ChildProcess/end()`` where it has to be killed.
    ///
    /// - Parameters:
    ///   - limit: Output above this many bytes is an error: nothing that is asked for here is that large.
    ///   - isUsers: Whether it is a program of the user's own, whose files have the modes that he chose
    ///     (``CreationMask``).
    ///   - isStopped: Whether nobody waits for it any more; asked until it has ended.
    /// - Throws: `KeychainError`; `fileUnavailable` where it cannot be started; `timedOut` where it has not ended at
    ///   `deadline`, `dataTooLarge` where it writes more than `limit`, and `cancelled` where it was stopped: in each
    ///   case it was killed, unless the system does not allow that.
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
            // Looked at before the end is: what is longer than it may be is not even written to the disk for long.
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

    /// Runs `arguments[0]` and returns its exit status; `nil` where it had not ended at `deadline` and was killed.
    ///
    /// It reads nothing, and writes to the descriptor `output`. Blocks until it has ended, and as
    /// ``ChildProcess/end()`` where it has to be killed.
    ///
    /// - Throws: `fileUnavailable` where it cannot be started.
    package static func status(
        of arguments: [String], output: Int32, by deadline: Deadline
    ) throws(KeychainError) -> Int32? {
        guard let null = OpenFile(path: "/dev/null", flags: O_RDONLY) else { throw .file("open", "/dev/null", errno) }
        var child = try ChildProcess(arguments, input: null.descriptor, output: output, inOwnGroup: !hasTerminal)
        return child.exitStatus(by: deadline)
    }

    /// In a group of its own a program can be ended with all that it started; at a terminal it must be able to ask
    /// there.
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

    /// What was written; `nil` where it is more than `limit`.
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
