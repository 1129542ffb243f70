import Glibc
import Keyfob
import KeyfobPrimitives

/// Standard input as the source of a secret or a file.
enum StandardInput {
    /// The most bytes that are read: 32 MiB.
    static let limit = 32 << 20

    /// How long to wait for a writer whose bytes are discarded.
    private static let patience: Duration = .seconds(10)

    /// Whether standard input is a pipe or a regular file.
    ///
    /// False for a terminal, `/dev/null`, and a socket, through which service managers never send data.
    static var isPipeOrFile: Bool {
        var status = stat()
        guard unsafe fstat(STDIN_FILENO, &status) == 0 else { return false }
        let kind = status.st_mode & S_IFMT
        return kind == S_IFIFO || kind == S_IFREG
    }

    /// Reads everything up to the end.
    ///
    /// Blocks until the writer closes its end.
    ///
    /// - Parameter timeout: The value of `--timeout`, if given; limits the wait for input that is not typed by a
    ///   person.
    /// - Throws: `KeychainError.dataTooLarge` beyond `limit`; `timedOut`; `fileUnavailable` if reading fails.
    static func readSecret(
        limit: Int = limit, from descriptor: Int32 = STDIN_FILENO, waiting timeout: TimeSpan? = nil
    ) throws -> SecretBytes {
        let file = try copy(of: descriptor)
        let bytes = try file.readAll(upTo: limit, waiting: timeout)
        guard bytes.count <= limit else {
            throw KeychainError(.dataTooLarge, "\(file.path) contains more than \(Plural.size(limit)).")
        }
        return bytes
    }

    /// Reads and discards a pipe, up to its end or to `limit`. Does nothing if the descriptor is not a pipe.
    ///
    /// Blocks for at most ten seconds, or `timeout` if that is shorter. Without this, SIGPIPE would end the writer, and
    /// a script with `pipefail` would fail because of a value that was not needed.
    static func discardPipe(
        limit: Int = limit, from descriptor: Int32 = STDIN_FILENO, waiting timeout: TimeSpan? = nil
    ) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return }
        let deadline = Deadline.after(min(patience, timeout?.duration ?? patience))
        // Errors and timeouts are ignored, because the bytes are not needed.
        do {
            let pipe = try copy(of: descriptor)
            var rest = limit
            while rest > 0 {
                let count = try pipe.read(limit: min(rest, 65_536), by: deadline).count
                guard count > 0 else { return }
                rest -= count
            }
        } catch {}
    }

    /// Duplicates the descriptor, so that the given one stays open when the copy is closed.
    static func copy(of descriptor: Int32) throws(KeychainError) -> OpenFile {
        let name = descriptor == STDIN_FILENO ? "standard input" : "file descriptor \(descriptor)"
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { throw .file("read", name, errno) }
        return OpenFile(adopting: copy, path: name)
    }
}

extension SecretBytes {
    /// The bytes without one `\n` at the end. A `\r` before it stays, because it may be part of the value.
    var withoutLastNewline: SecretBytes {
        let endsInNewline = unsafe withUnsafeBytes { unsafe $0.last == 0x0A }
        return endsInNewline ? prefix(count - 1) : self
    }
}
