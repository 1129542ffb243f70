import Foundation
import GRDB

/// The connection of a vault, for the process that opened it.
///
/// SQLite does not allow a connection to be used on both sides of fork(2).
final class VaultConnection: Sendable {
    private let database: any DatabaseWriter
    private let keepsQueue: Bool
    private let process = getpid()

    /// Wraps a connection.
    ///
    /// - Parameters:
    ///   - database: The connection.
    ///   - keepsQueue: Whether the connection is closed with `closeKeepingQueue`, which keeps GRDB's queue.
    init(_ database: any DatabaseWriter, keepsQueue: Bool = false) {
        self.database = database
        self.keepsQueue = keepsQueue
    }

    deinit {
        if keepsQueue, process == getpid() { Self.closeKeepingQueue(database) }
    }

    /// Closes a database and keeps GRDB's queue, some kilobytes, for the life of the process.
    ///
    /// Ending a queue starts a thread of libdispatch, which a command does not need. If the user may start no more
    /// threads, libdispatch waits without a limit.
    static func closeKeepingQueue(_ database: any DatabaseWriter) {
        // The end of the process closes a database that cannot be closed here.
        try? database.close()
        _ = unsafe Unmanaged.passRetained(database as AnyObject)
    }

    /// Runs `body` with the database.
    ///
    /// - Throws: `KeychainError` with code `refused` in a process that was forked after the vault was opened; the
    ///   errors of `body`.
    func use<Result>(_ body: (any DatabaseWriter) throws -> Result) throws -> Result {
        guard process == getpid() else {
            throw KeychainError(
                .refused, "this process was forked after the keychain was opened, and cannot use it.",
                hint: "Open the keychain in the child, or start another program instead.")
        }
        return try body(database)
    }
}
