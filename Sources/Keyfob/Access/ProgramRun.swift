import Foundation
import KeyfobPrimitives

/// A program that is run to its end, with what it is to read and what it wrote.
///
/// Input and output are files without a name: no pipe can fill up, whatever the program does first. For public
/// matter, such as requests and certificates.
enum ProgramRun {
    /// What came of it.
    struct Result {
        let status: Int32
        let output: Data
    }

    /// Output above this many bytes is an error: nothing that is asked for here is that large.
    private static let limit = 16 << 20

    /// Runs `arguments[0]`, looked up in `PATH`; its standard error is ours.
    ///
    /// Blocks until it has ended. - Throws: `KeychainError`; `fileUnavailable` where it cannot be started, `timedOut`
    /// where it has not ended at `deadline` and was killed, `dataTooLarge`.
    static func run(_ arguments: [String], input: Data = Data(), deadline: Deadline) throws -> Result {
        let reading = try scratchFile()
        let writing = try scratchFile()
        try write(input, to: reading)
        let name = arguments.first ?? "the program"
        var child = try ChildProcess(
            arguments, input: reading.descriptor, output: writing.descriptor, inOwnGroup: false)
        guard let status = child.exitStatus(by: deadline) else {
            throw KeychainError(.timedOut, "\(name) did not end in time and was killed.", details: ["program": name])
        }
        return Result(status: status, output: try read(writing, name))
    }

    private static func scratchFile() throws(KeychainError) -> OpenFile {
        let folder = NSTemporaryDirectory()
        var template = Array((folder + (folder.hasSuffix("/") ? "" : "/") + "keyfob.XXXXXX").utf8CString)
        let descriptor = unsafe mkstemp(&template)
        guard descriptor >= 0 else { throw .file("write in", folder, errno) }
        // A program that another thread starts in this moment may inherit it: what is in there is public.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        unsafe unlink(template)
        return OpenFile(adopting: descriptor, path: folder)
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

    private static func read(_ file: borrowing OpenFile, _ name: String) throws(KeychainError) -> Data {
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
            guard bytes.count <= limit else {
                throw KeychainError(.dataTooLarge, "\(name) printed more than 16 MiB.", details: ["program": name])
            }
        }
    }
}
