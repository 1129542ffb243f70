import Foundation
import KeyfobPrimitives
package import PKCS11
import Synchronization

/// Records whether SoftHSM sees all objects of one of Keyfob's tokens.
package final class ObjectVisibility: Sendable {
    private let stale = Atomic(false)
    private let unreadable = Lock<Int?>(nil)

    /// The number of files that SoftHSM shows no object for right after it was initialized again: remains of killed
    /// processes.
    package var unreadableFiles: Int { unreadable.withLock { $0 ?? 0 } }

    /// Records the number of files that SoftHSM shows no object for, after it was initialized again.
    package func recordUnreadable(_ count: Int) { unreadable.withLock { $0 = count } }

    /// Records how many such files are damaged on the disk, unless a number was recorded since SoftHSM was initialized.
    ///
    /// Otherwise each command would initialize SoftHSM again because of them, and so log in a second time.
    package func recordUnreadableIfUnknown(_ count: Int) { unreadable.withLock { $0 = $0 ?? count } }

    /// Lowers the recorded number: a clean-up may have removed some of the files.
    package func lowerUnreadable(_ count: Int) { unreadable.withLock { $0 = min($0 ?? count, count) } }

    /// Whether the token's directory was found missing and SoftHSM has not been initialized again since.
    package var isStale: Bool {
        get { stale.load(ordering: .sequentiallyConsistent) }
        set { stale.store(newValue, ordering: .sequentiallyConsistent) }
    }
}

/// Regaining objects that SoftHSM treats as removed.
///
/// If a token's directory is missing for a moment, because its disk is not mounted or a user moved it, SoftHSM drops
/// every object that it accesses in that time. It reads a file again only when the token's generation increases, which
/// it does not when the directory comes back unchanged.
extension TokenStore {
    /// Runs `body`, and again if it missed an object that SoftHSM had dropped.
    ///
    /// - Parameters:
    ///   - repeats: Whether `body` may run again. If not, the error is one that `retryingMomentaryFailures` retries.
    ///   - body: Accesses objects.
    /// - Returns: The result of `body`.
    /// - Throws: `tokenAbsent` if an object is missing because the whole token is; errors of `body`.
    package func recoveringDroppedObjects<Result>(repeats: Bool, _ body: () throws -> Result) throws -> Result {
        guard softHSM != nil else { return try body() }
        // Taken before `body`, so that nothing is repaired twice if another thread does it in the meantime.
        let generation = generation
        do { return try body() } catch let error as KeychainError where Self.isMissingObject(error) {
            guard try reinitializeIfObjectsDropped(since: generation) else { throw error }
            guard repeats else {
                throw error.with(
                    remedies: ["SoftHSM had dropped it for a moment. Try again."],
                    cause: PKCS11Error(function: .findObjects, returnValue: .objectHandleInvalid))
            }
        }
        return try body()
    }

    /// The number of the module's current initialization; `nil` before the first.
    package var generation: Int? { loadedModule?.generation }

    private static func isMissingObject(_ error: KeychainError) -> Bool {
        error.cause == nil && [.itemNotFound, .wrappingKeyMissing].contains(error.code)
    }

    /// Initializes SoftHSM again if it shows fewer objects of this token than there are files.
    ///
    /// This ends all sessions of the process, including those of other keychains, which then log in again. So it is
    /// done only if the files show that it helps: an object that was really removed has no file, and files that SoftHSM
    /// cannot read are recorded.
    ///
    /// - Parameter generation: The initialization in which an object was missing.
    /// - Returns: Whether SoftHSM was initialized again since.
    /// - Throws: `tokenAbsent` if the token's directory is missing; `KeychainError`.
    package func reinitializeIfObjectsDropped(since generation: Int?) throws -> Bool {
        guard softHSM != nil, let generation, let module = loadedModule else { return false }
        guard try requirePresence() else { return false }
        do {
            let hidden = try hiddenObjects()
            guard visibility.isStale || hidden > visibility.unreadableFiles else {
                visibility.lowerUnreadable(hidden)
                return module.generation != generation
            }
            try reinitialize(module, ifStillIn: generation)
            visibility.isStale = false
            visibility.recordUnreadable(try hiddenObjects())
        } catch let error as PKCS11Error { throw refusal(error, .read) }
        return true
    }

    /// Initializes the module again, unless that has happened since `generation`.
    ///
    /// The module does so at most once a second, and the last time may have been before the objects were dropped. So
    /// this repeats the request for two seconds.
    package func reinitialize(_ module: Module, ifStillIn generation: Int) throws(PKCS11Error) {
        forgetHandles()
        let deadline = Deadline.after(.seconds(2))
        while module.generation == generation, !deadline.hasPassed {
            try module.reinitialize(ifStillIn: generation)
            if module.generation == generation { usleep(20_000) }
        }
    }

    /// Checks that the token's directory exists.
    ///
    /// - Returns: Whether the token is there and intact; `false` also for tokens that are not Keyfob's.
    /// - Throws: `tokenAbsent` if it is missing; `fileUnavailable`.
    @discardableResult
    package func requirePresence() throws -> Bool {
        guard let softHSM, let serial = uri.serial else { return false }
        switch try softHSM.awaitToken(serial: serial, label: label) {
        case .whole:
            return true
        case .unclear:
            return false
        case .absent:
            throw refusal(absence(), .read)
        }
    }

    /// The error for a missing token directory. Records that SoftHSM has to be initialized again once it is back.
    package func absence() -> PKCS11Error {
        visibility.isStale = true
        return PKCS11Error(function: .getSlotList, returnValue: .tokenNotPresent)
    }

    /// The number of files that SoftHSM shows no object for; 0 without a login, which private objects require.
    package func hiddenObjects() throws -> Int {
        for pause in Self.pauses.prefix(6) {
            guard let before = changeDetector?.snapshot() else { return 0 }
            let (listed, isLoggedIn) = try pool().withSession { session in
                (try session.findObjects([.token(true)]).count, try session.info().isUserLoggedIn)
            }
            guard isLoggedIn else { return 0 }
            if listed >= before.entries.count { return 0 }
            // Count only if no other process created or removed objects in the meantime.
            if changeDetector?.snapshot()?.stamp == before.stamp { return before.entries.count - listed }
            usleep(pause)
        }
        return 0
    }
}
