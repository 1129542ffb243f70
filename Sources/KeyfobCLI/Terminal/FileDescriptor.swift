import CLinux
import Glibc
import Keyfob
import KeyfobPrimitives

/// The loops around `read(2)` and `write(2)` that partial transfers and signals ask for.
enum FileDescriptor {
    /// Writes all bytes. Where nobody reads them any more the process ends as SIGPIPE ends it, even where it does not.
    ///
    /// - Throws: `KeychainError.fileUnavailable` with the system's reason.
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

    /// Reads at most `buffer.count` bytes, once; 0 at the end.
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

    /// Where a call has failed because it would have had to wait, waits, and says so: our parent may have left its own
    /// pipe or terminal to us as one that does not block.
    private static func awaitsReadiness(of descriptor: Int32, for events: Int32) -> Bool {
        guard errno == EAGAIN || errno == EWOULDBLOCK else { return false }
        var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        // Whatever it says, the call that is made again knows better.
        _ = unsafe poll(&entry, 1, -1)
        return true
    }

    /// Ends the process by SIGPIPE: some PKCS#11 modules have it ignored as soon as they are loaded, and then
    /// `keyfob cert ls | head -1` would end in an error message instead of in silence.
    private static func endByPipeSignal() -> Never {
        signal(SIGPIPE, SIG_DFL)
        raise(SIGPIPE)
        // Where our parent has it blocked, too.
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
            hint: [ENOSPC, EDQUOT].contains(number) ? "Make room where it goes to: df -h" : nil)
    }
}
