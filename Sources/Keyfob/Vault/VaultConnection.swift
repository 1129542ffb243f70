import Foundation
import GRDB

/// The connection of a vault, for the process that opened it.
///
/// SQLite does not allow a connection on both sides of fork(2).
final class VaultConnection: Sendable {
    private let database: any DatabaseWriter
    private let keepsQueue: Bool
    private let process = getpid()

    /// - Parameter keepsQueue: Whether GRDB's queue stays for the life of the process, as after `closeKeepingQueue`.
    init(_ database: any DatabaseWriter, keepsQueue: Bool = false) {
        self.database = database
        self.keepsQueue = keepsQueue
    }

    deinit {
        if keepsQueue, process == getpid() { Self.closeKeepingQueue(database) }
    }

    /// Closes a database, and leaves GRDB's queue, some kilobytes, for the life of the process.
    ///
    /// The end of a queue starts a thread of libdispatch, which a command does not need. For a user who may have no
    /// more threads, libdispatch waits without a limit.
    static func closeKeepingQueue(_ database: any DatabaseWriter) {
        // A database that cannot be closed is closed by the end of the process.
        try? database.close()
        _ = unsafe Unmanaged.passRetained(database as AnyObject)
    }

    /// Runs `body` with the database.
    ///
    /// - Throws: `KeychainError` with code `refused` in a process that was forked after the vault was opened; the errors
    ///   of `body`.
    func use<Result>(_ body: (any DatabaseWriter) throws -> Result) throws -> Result {
        guard process == getpid() else {
            throw KeychainError(
                .refused, "this process was forked after the keychain was opened, and cannot use it.",
                hint: "Open the keychain in the child, or start another program instead.")
        }
        return try body(database)
    }
}
