import CLinux
import Glibc
import Keyfob
import KeyfobPrimitives

/// The loops around `read(2)` and `write(2)` that partial transfers and signals ask for.
enum FileDescriptor {
    /// Writes all bytes.
    ///
    /// - Throws: `KeychainError.fileUnavailable` with the system's reason.
    static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws(KeychainError) {
        var rest = unsafe bytes[...]
        while unsafe !rest.isEmpty {
            let count = unsafe Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count < 0 {
                if errno == EINTR { continue }
                throw failure("written", descriptor)
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
            if errno != EINTR { throw failure("read", descriptor) }
        }
    }

    private static func failure(_ participle: String, _ descriptor: Int32) -> KeychainError {
        let number = errno
        let what = switch descriptor {
        case STDIN_FILENO: "standard input"
        case STDOUT_FILENO: "standard output"
        default: "a file"
        }
        return KeychainError(
            [ENOSPC, EDQUOT].contains(number) ? .diskFull : .fileUnavailable,
            "\(what) cannot be \(participle): \(unsafe String(cString: strerror(number))).")
    }
}
