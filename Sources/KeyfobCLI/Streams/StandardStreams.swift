import Glibc
import KeyfobPrimitives

/// Standard output, unbuffered. A write is complete or throws.
enum StandardOutput {
    /// Whether it is a terminal.
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// The width of the terminal, or `nil` if it is unknown or standard output is not a terminal.
    static var terminalWidth: Int? {
        guard isTerminal else { return nil }
        var size = winsize()
        guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Writes all of `text`.
    ///
    /// - Throws: `KeychainError.diskFull` or `fileUnavailable` if the stream cannot be written.
    static func write(_ text: String) throws {
        try FileDescriptor.write(text, to: STDOUT_FILENO)
    }

    /// Writes a secret without making a copy that is not wiped.
    ///
    /// - Throws: `KeychainError.diskFull` or `fileUnavailable` if the stream cannot be written.
    static func write(_ secret: SecretBytes) throws {
        try unsafe secret.withUnsafeBytes { try unsafe FileDescriptor.writeAll($0, to: STDOUT_FILENO) }
    }
}

/// Standard error, for messages and progress.
enum StandardError {
    /// Writes `text`.
    ///
    /// Failures are ignored, because they cannot be reported. If the reader has closed its end, the process ends with
    /// SIGPIPE.
    static func write(_ text: String) {
        do { try FileDescriptor.write(text, to: descriptor) } catch {}
    }
}
