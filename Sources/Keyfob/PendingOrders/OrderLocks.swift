import Foundation
import KeyfobPrimitives

/// The locks of a keychain that are held while certificates are ordered, one for each identity name.
///
/// A renewal uses or destroys the key that an interrupted renewal left behind. It may do so only once no other process
/// works on the identity, and an issuer takes from a moment to an hour. The kernel releases the lock of a process that
/// dies; child programs do not inherit it.
struct OrderLocks: Sendable {
    private let files: StateFiles

    /// The locks of a keychain. Nothing is created yet.
    init(keychain: UUID, _ directories: Directories) {
        files = StateFiles("order-locks", keychain: keychain, directories)
    }

    /// Runs `body` while no other process orders a certificate for the name.
    ///
    /// If the lock file cannot be created or opened, `body` runs without the lock, and without a record of the order. A
    /// process without such a directory is a service with a keychain of its own; keys and certificates are stored
    /// elsewhere.
    ///
    /// - Parameter deadline: When to stop waiting for other processes.
    /// - Throws: `KeychainError` with code `vaultBusy` if another process still holds the lock by then; the errors of
    ///   `body`.
    func ordering<Result>(_ name: String, until deadline: Deadline, _ body: () throws -> Result) throws -> Result {
        let lock: VaultLock
        do throws(KeychainError) { lock = try self.lock(name) } catch { return try body() }
        return try lock.withLockWherePossible(until: deadline, body)
    }

    /// Whether any process is ordering a certificate for the name now. False if the lock cannot be opened.
    func isHeld(_ name: String) -> Bool {
        do {
            try lock(name).withLock(until: .after(.zero)) {}
            return false
        } catch { return (error as? KeychainError)?.code == .vaultBusy }
    }

    private func lock(_ name: String) throws(KeychainError) -> VaultLock {
        VaultLock(
            path: try files.path(of: name), name: "another renewal of identity \"\(name)\"", state: "is under way, by")
    }

    /// Removes all lock files and their directory.
    ///
    /// - Throws: `KeychainError` with code `fileUnavailable`.
    func removeAll() throws(KeychainError) { try files.removeAll() }
}
