import Glibc
import KeyfobPrimitives

/// Standard output: unbuffered, complete or an error.
enum StandardOutput {
    /// Whether it is a terminal.
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// The terminal's columns, or `nil` where it is no terminal or does not say.
    static var terminalWidth: Int? {
        guard isTerminal else { return nil }
        var size = winsize()
        guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Writes all of `text`.
    ///
    /// - Throws: `KeychainError.fileUnavailable` when the stream takes no more, as a full disk does.
    static func write(_ text: String) throws {
        var text = text
        try text.withUTF8 { try unsafe FileDescriptor.writeAll(UnsafeRawBufferPointer($0), to: STDOUT_FILENO) }
    }

    /// Writes a secret as it is, without a copy that nobody wipes.
    ///
    /// - Throws: as `write(_:)`.
    static func write(_ secret: SecretBytes) throws {
        try unsafe secret.withUnsafeBytes { try unsafe FileDescriptor.writeAll($0, to: STDOUT_FILENO) }
    }
}

/// Standard error, for messages and progress.
enum StandardError {
    /// Writes `text`. A failure is ignored, as there is no place left to report it; but who reads no more ends the
    /// process, as on standard output.
    static func write(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            do {
                try unsafe FileDescriptor.writeAll(UnsafeRawBufferPointer(bytes), to: STDERR_FILENO)
            } catch {
                return
            }
        }
    }
}
