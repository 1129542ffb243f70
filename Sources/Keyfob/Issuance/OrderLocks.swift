import Foundation
import KeyfobPrimitives

/// The locks of a keychain that are held while certificates are ordered, one for each name of an identity.
///
/// Who renews an identity uses the key that an interrupted renewal has left behind, or destroys it. Both may be done
/// only where nobody is at it any more, and an issuer takes from a moment to an hour. The kernel drops the lock of a
/// process that dies; programs that it has started do not have it.
struct OrderLocks: Sendable {
    private let files: FilesByName

    /// Those of a keychain. Nothing is made yet.
    init(keychain: UUID, _ directories: Directories) {
        files = FilesByName("order-locks", keychain: keychain, directories)
    }

    /// Runs `body` while nobody else orders a certificate for the name.
    ///
    /// Where there is no place for the file, or it is not ours to open, it is run all the same, as it is without a
    /// record of the order: the keys and the certificates are elsewhere, and whoever has no such place is a service
    /// with a keychain of its own.
    ///
    /// - Parameter deadline: Until when others are waited for.
    /// - Throws: `KeychainError` with code `vaultBusy` where they are not done by then; what `body` throws.
    func ordering<Result>(_ name: String, until deadline: Deadline, _ body: () throws -> Result) throws -> Result {
        let lock: VaultLock
        do throws(KeychainError) { lock = try self.lock(name) } catch { return try body() }
        return try lock.withLockWherePossible(until: deadline, body)
    }

    /// Whether somebody orders a certificate for the name at this moment. One that cannot be had nobody has.
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

    /// Forgets all, with the directory. - Throws: `fileUnavailable`.
    func removeAll() throws(KeychainError) { try files.removeAll() }
}
