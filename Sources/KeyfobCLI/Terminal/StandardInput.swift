import Glibc
import Keyfob
import KeyfobPrimitives

/// Standard input, as the place a secret or a file comes from.
enum StandardInput {
    /// The most that is read: 32 MiB.
    static let limit = 32 << 20

    /// How long a writer is waited for whose bytes nobody needs.
    private static let patience: Duration = .seconds(10)

    /// Whether something was piped or redirected in: a pipe or a file, not a terminal, `/dev/null` or a
    /// socket, from which a service manager never sends anything.
    static var isPipeOrFile: Bool {
        var status = stat()
        guard unsafe fstat(STDIN_FILENO, &status) == 0 else { return false }
        let kind = status.st_mode & S_IFMT
        return kind == S_IFIFO || kind == S_IFREG
    }

    /// Everything up to the end.
    ///
    /// Blocks until the writer closes its end.
    ///
    /// - Parameter timeout: `--timeout`, where it was given: the longest that is waited for what no person types.
    /// - Throws: `KeychainError.dataTooLarge` beyond `limit`; `timedOut`; `fileUnavailable` when reading fails.
    static func readSecret(
        limit: Int = limit, from descriptor: Int32 = STDIN_FILENO, waiting timeout: TimeSpan? = nil
    ) throws -> SecretBytes {
        let file = try copy(of: descriptor)
        let bytes = try file.readAll(upTo: limit, waiting: timeout)
        guard bytes.count <= limit else {
            throw KeychainError(.dataTooLarge, "\(file.path) holds more than \(Phrases.size(limit)).")
        }
        return bytes
    }

    /// Reads a pipe up to the end, or as far as a value may go, and keeps nothing. What is no pipe is left alone.
    ///
    /// Blocks as `readSecret` does, but for ten seconds at most, and no longer than `timeout`. Whoever writes to the
    /// pipe would else be ended by SIGPIPE, and a script with `pipefail` would fail because of a value that nobody
    /// needed.
    static func discardPipe(
        limit: Int = limit, from descriptor: Int32 = STDIN_FILENO, waiting timeout: TimeSpan? = nil
    ) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return }
        let deadline = Deadline.after(min(patience, timeout?.duration ?? patience))
        // What cannot be read, or not in time, is not needed either.
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

    /// The same file under a descriptor of our own, which can be closed: the given one stays open.
    private static func copy(of descriptor: Int32) throws(KeychainError) -> OpenFile {
        let name = descriptor == STDIN_FILENO ? "standard input" : "file descriptor \(descriptor)"
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { throw .file("read", name, errno) }
        return OpenFile(adopting: copy, path: name)
    }
}

extension SecretBytes {
    /// The bytes without one `\n` at their end. A `\r` before it stays: nobody knows that it is no part of the value.
    var withoutLastNewline: SecretBytes {
        let endsInNewline = unsafe withUnsafeBytes { unsafe $0.last == 0x0A }
        return endsInNewline ? prefix(count - 1) : self
    }
}
