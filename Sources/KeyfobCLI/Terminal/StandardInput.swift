import Glibc
import Keyfob
import KeyfobPrimitives

/// Standard input, as the place a secret or a file comes from.
enum StandardInput {
    /// The most that is read: 32 MiB.
    static let limit = 32 << 20

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
    /// - Throws: `KeychainError.dataTooLarge` beyond `limit`; `fileUnavailable` when reading fails.
    static func readSecret(limit: Int = limit, from descriptor: Int32 = STDIN_FILENO) throws -> SecretBytes {
        var chunks: [SecretBytes] = []
        var total = 0
        while true {
            // A list of chunks, not a growing array: growing would leave copies behind, unwiped.
            let chunk = try nextChunk(from: descriptor)
            if chunk.isEmpty { break }
            total += chunk.count
            guard total <= limit else {
                throw KeychainError(.dataTooLarge, "standard input holds more than \(Phrases.size(limit)).")
            }
            chunks.append(chunk)
        }
        return SecretBytes(joining: chunks)
    }

    /// Reads a pipe up to the end, or as far as a value may go, and keeps nothing. What is no pipe is left alone.
    ///
    /// Blocks as `readSecret` does, but no longer than the writer is silent for ten seconds. Whoever writes to the pipe
    /// would else be ended by SIGPIPE, and a script with
    /// `pipefail` would fail because of a value that nobody needed.
    static func discardPipe(limit: Int = limit, from descriptor: Int32 = STDIN_FILENO) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return }
        var total = 0
        while total <= limit {
            var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&polled, 1, 10_000) > 0 else { return }
            // What cannot be read is not needed either.
            guard let chunk = try? nextChunk(from: descriptor), !chunk.isEmpty else { return }
            total += chunk.count
        }
    }

    /// What comes next; empty at the end.
    private static func nextChunk(from descriptor: Int32) throws(KeychainError) -> SecretBytes {
        var count = 0
        let chunk = try unsafe SecretBytes(count: 64 << 10) { buffer throws(KeychainError) in
            count = try unsafe FileDescriptor.read(descriptor, into: UnsafeMutableRawBufferPointer(buffer))
        }
        return count == chunk.count ? chunk : chunk.prefix(count)
    }
}

extension SecretBytes {
    /// The bytes without one `\n` at their end. A `\r` before it stays: nobody knows that it is no part of the value.
    var withoutLastNewline: SecretBytes {
        let endsInNewline = unsafe withUnsafeBytes { unsafe $0.last == 0x0A }
        return endsInNewline ? prefix(count - 1) : self
    }
}
