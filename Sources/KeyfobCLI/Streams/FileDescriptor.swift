import CLinux
import Glibc
import Keyfob
import KeyfobPrimitives

/// `read(2)` and `write(2)` with the loops that partial transfers and signals require.
enum FileDescriptor {
    /// Writes all bytes.
    ///
    /// If the reader has closed its end, the process ends with SIGPIPE, even if SIGPIPE is ignored or blocked. The
    /// programs that it has started end before.
    ///
    /// - Throws: `KeychainError.diskFull` if there is no space left, otherwise `fileUnavailable` with the system's
    ///   reason.
    static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws(KeychainError) {
        var rest = unsafe bytes[...]
        while unsafe !rest.isEmpty {
            let count = unsafe Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count < 0 {
                if errno == EINTR || awaitsReadiness(of: descriptor, for: POLLOUT) { continue }
                if errno == EPIPE { endByPipeSignal() }
                let number = errno
                throw failure("\(name(of: descriptor)) cannot be written", number)
            }
            unsafe rest = rest.dropFirst(count)
        }
    }

    /// Writes all of a text.
    ///
    /// - Throws: The errors of `writeAll(_:to:)`.
    static func write(_ text: String, to descriptor: Int32) throws {
        var text = text
        try text.withUTF8 { try unsafe writeAll(UnsafeRawBufferPointer($0), to: descriptor) }
    }

    /// Calls `read(2)` once for up to `buffer.count` bytes, and returns 0 at the end.
    ///
    /// - Throws: `KeychainError.fileUnavailable` with the system's reason.
    static func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) throws(KeychainError) -> Int {
        while true {
            let count = unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            if errno == EINTR || awaitsReadiness(of: descriptor, for: POLLIN) { continue }
            let number = errno
            throw failure("cannot read \(name(of: descriptor))", number)
        }
    }

    /// Waits for readiness if the last call failed with EAGAIN, and returns whether it did.
    ///
    /// The parent may have set the pipe or terminal that it shares with this process to non-blocking mode.
    private static func awaitsReadiness(of descriptor: Int32, for events: Int32) -> Bool {
        guard errno == EAGAIN || errno == EWOULDBLOCK else { return false }
        var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        // The result is ignored: the repeated call reports any error.
        _ = unsafe poll(&entry, 1, -1)
        return true
    }

    /// Ends the process with SIGPIPE.
    ///
    /// Some PKCS#11 modules ignore SIGPIPE when they are loaded. Without this, `keyfob cert ls | head -1` would print
    /// an error message.
    private static func endByPipeSignal() -> Never {
        RunningChildren.end()
        signal(SIGPIPE, SIG_DFL)
        raise(SIGPIPE)
        // Reached if the parent process has blocked SIGPIPE.
        _exit(128 + SIGPIPE)
    }

    private static func name(of descriptor: Int32) -> String {
        switch descriptor {
        case STDIN_FILENO: "standard input"
        case STDOUT_FILENO: "standard output"
        default: "a file"
        }
    }

    private static func failure(_ what: String, _ number: Int32) -> KeychainError {
        KeychainError(
            [ENOSPC, EDQUOT].contains(number) ? .diskFull : .fileUnavailable,
            "\(what): \(FileArgument.reason(number)).",
            hint: [ENOSPC, EDQUOT].contains(number) ? "Free some space: df -h" : nil)
    }
}
