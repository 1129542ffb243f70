import Glibc
import Keyfob
import KeyfobPrimitives

extension OpenFile {
    /// Reads everything up to the end, but at most one byte more than `limit`.
    ///
    /// Blocks until the writer of a pipe has closed it. Without `--timeout` there is no limit, because producing a
    /// value may be slow. A terminal never has a limit.
    ///
    /// - Parameter timeout: The value of `--timeout`, if given.
    /// - Throws: `KeychainError.timedOut` if a pipe was not closed in time; `fileUnavailable` if reading fails.
    func readAll(upTo limit: Int, waiting timeout: TimeSpan?) throws(KeychainError) -> SecretBytes {
        guard let timeout, isatty(descriptor) != 1 else { return try read(limit: limit + 1) }
        do throws(KeychainError) {
            // At least one second: a short `--timeout` is meant for a busy keychain, and the user's own value may take
            // longer.
            return try read(limit: limit + 1, by: .after(max(timeout.duration, .seconds(1))))
        } catch {
            guard error.code == .timedOut else { throw error }
            throw error.replacing(
                message: "the end of \(path) was not reached within \(timeout.inSeconds); nothing was changed.")
        }
    }
}
