import Glibc
import Keyfob
import KeyfobPrimitives

extension OpenFile {
    /// Everything up to the end; where that is more than `limit` bytes, one byte more than these.
    ///
    /// Blocks until whoever writes to a pipe has closed it. Without `--timeout` they may take as long as they want, as
    /// what makes a value may be slow; a person who types at a terminal may always.
    ///
    /// - Parameter timeout: `--timeout`, where it was given.
    /// - Throws: `timedOut` where a pipe was not closed in that time; `fileUnavailable` and the like.
    func readAll(upTo limit: Int, waiting timeout: TimeSpan?) throws(KeychainError) -> SecretBytes {
        guard let timeout, isatty(descriptor) != 1 else { return try read(limit: limit + 1) }
        do throws(KeychainError) {
            // At least a second: who does not want to wait for a busy keychain may have to for his own value.
            return try read(limit: limit + 1, by: .after(max(timeout.duration, .seconds(1))))
        } catch {
            guard error.code == .timedOut else { throw error }
            throw KeychainError(
                error.code, "\(path) did not give all it has within \(timeout.inSeconds); nothing was changed.",
                hint: error.hint, details: error.details, cause: error)
        }
    }
}
