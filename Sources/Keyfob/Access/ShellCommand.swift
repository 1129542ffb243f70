import CLinux
import Foundation
import KeyfobPrimitives

/// The `cmd:` source.
enum ShellCommand {
    /// Runs `/bin/sh -c command` and returns the first line of its output, or all of it without one trailing newline.
    ///
    /// Blocks until the command has ended.
    ///
    /// - Parameter hasLines: Whether the secret is all of the output.
    /// - Throws: `KeychainError` with code `timedOut` if the command has not ended at `deadline`; it is then killed
    ///   with its process group. `failed` if its exit status is not 0; `invalidArgument` for a secret that is too long.
    static func secret(
        of command: String, hasLines: Bool, deadline: Deadline
    ) throws(KeychainError) -> SecretBytes {
        guard let null = OpenFile(path: "/dev/null", flags: O_RDWR) else { throw .file("open", "/dev/null", errno) }
        let pipe = try Pipe()
        var child = try ChildProcess(
            ["/bin/sh", "-c", command], input: null.descriptor, output: pipe.writing.descriptor, inOwnGroup: true)
        return try collect(from: &child, pipe.closingWriter(), hasLines, deadline)
    }

    private static func collect(
        from child: inout ChildProcess, _ output: consuming OpenFile, _ hasLines: Bool, _ deadline: Deadline
    ) throws(KeychainError) -> SecretBytes {
        // Room for the longest secret and one more byte, to detect a longer one.
        let limit = PINSource.maximumLength + 3
        var count = 0
        var failure: KeychainError?
        var status: Int32?
        let bytes = unsafe SecretBytes(count: 2 * limit) { buffer in
            guard let base = buffer.baseAddress else { return }
            let overflow = unsafe base + limit
            while true {
                // Wait for the end of the command, not only for the end of its output: a background process may keep
                // the pipe open.
                let readable = waitForInput(output.descriptor, deadline, limit: .milliseconds(status == nil ? 20 : 0))
                if !readable {
                    if status != nil { return }
                    if deadline.hasPassed { return }
                    status = child.exitStatus()
                    continue
                }
                // Continue to read when the buffer is full, so that a full pipe does not block the command.
                let position = count < limit ? count : 0
                let target = unsafe count < limit ? base : overflow
                let received = unsafe read(output.descriptor, target + position, limit - position)
                if received == 0 || deadline.hasPassed { return }
                if received > 0 {
                    if count < limit { count += received }
                } else if errno != EINTR {
                    failure = .file("read", "the output of a command", errno)
                    return
                }
            }
        }
        if let failure { throw failure }
        guard let status = status ?? child.exitStatus(by: deadline) else {
            throw KeychainError(
                .timedOut, "the command of the PIN source did not end in time and was killed.",
                remedies: ["A PIN source may not ask on the terminal.", Remedy("More time", .change(.timeout))])
        }
        guard status == 0 else {
            throw KeychainError(
                .failed, "the command of the PIN source failed with status \(status).",
                hint: "Run it by hand to see why.", details: ["status": String(status)])
        }
        guard let secret = bytes.prefix(count).secret(hasLines: hasLines, isComplete: count < limit) else {
            throw KeychainError(
                .invalidArgument,
                "the command of the PIN source printed \(hasLines ? "" : "a line of ")more than "
                    + "\(PINSource.maximumLength) bytes.")
        }
        return secret
    }
}

/// A pipe(2) that closes its ends on deinitialization.
private struct Pipe: ~Copyable {
    let reading: OpenFile
    let writing: OpenFile

    init() throws(KeychainError) {
        var ends: (Int32, Int32) = (0, 0)
        let result = unsafe keyfob_pipe(&ends.0, &ends.1)
        guard result == 0 else { throw .file("open", "a pipe", errno) }
        reading = OpenFile(adopting: ends.0, path: "a pipe")
        writing = OpenFile(adopting: ends.1, path: "a pipe")
    }

    /// Closes this process's copy of the writing end, so that only the child has it.
    consuming func closingWriter() -> OpenFile { reading }
}
