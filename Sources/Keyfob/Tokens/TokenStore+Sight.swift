import Foundation
import KeyfobPrimitives
import PKCS11
import Synchronization

/// What is known of whether SoftHSM sees all objects of a token of ours.
final class TokenSight: Sendable {
    private let lost = Atomic(false)
    private let unreadable = Lock<Int?>(nil)

    /// How many files SoftHSM showed no object of when it had just looked: rests of kills, which no look helps.
    var unreadableFiles: Int { unreadable.withLock { $0 ?? 0 } }

    /// Notes how many files SoftHSM shows no object of, after it has looked anew.
    func noteUnreadable(_ count: Int) { unreadable.withLock { $0 = count } }

    /// Notes how many such files are damaged on the disk, unless SoftHSM has looked anew since. To initialise it anew for
    /// them would cost each command a second login, for as long as they are there.
    func noteRests(_ count: Int) { unreadable.withLock { $0 = $0 ?? count } }

    /// Notes that there are no more such files than that: the sweep may have removed some.
    func noteAtMost(_ count: Int) { unreadable.withLock { $0 = min($0 ?? count, count) } }

    /// Whether the token's directory was found missing, and SoftHSM has not looked anew since.
    var isLost: Bool {
        get { lost.load(ordering: .sequentiallyConsistent) }
        set { lost.store(newValue, ordering: .sequentiallyConsistent) }
    }
}

/// Seeing objects again that SoftHSM takes for removed.
///
/// Where a token's directory is out of sight for a moment, because its disk is not mounted or somebody moved it,
/// SoftHSM drops every object that it is asked for in that time. It looks at a file again only when the token's
/// generation counts on, which it does not when the directory comes back as it was.
extension TokenStore {
    /// Runs `body`, and again where it missed an object that SoftHSM had lost sight of.
    ///
    /// - Parameter repeats: Whether `body` may run again. If not, the error is one of the moment, see
    ///   `retryingMomentaryFailures`.
    /// - Throws: `tokenAbsent` where an object is missing because all of the token is; what `body` throws.
    func seeingAll<Result>(repeats: Bool, _ body: () throws -> Result) throws -> Result {
        guard softHSM != nil else { return try body() }
        // Of before the look: what another thread has healed meanwhile need not be healed again.
        let generation = generation
        do { return try body() } catch let error as KeychainError where Self.isLoss(error) {
            guard try regainObjects(since: generation) else { throw error }
            guard repeats else {
                throw KeychainError(
                    error.code, error.message, hint: "SoftHSM had lost sight of it. Try again.", details: error.details,
                    cause: PKCS11Error(function: .findObjects, returnValue: .objectHandleInvalid))
            }
        }
        return try body()
    }

    /// Which initialisation of the module this is; `nil` before the first.
    var generation: Int? { loadedModule?.generation }

    private static func isLoss(_ error: KeychainError) -> Bool {
        error.cause == nil && [.itemNotFound, .wrappingKeyMissing].contains(error.code)
    }

    /// Has SoftHSM look at its tokens anew where it shows fewer objects of this one than there are files.
    ///
    /// Ends all sessions of the process, of other keychains too, which then log in again. So it is done only where
    /// the files say that it helps: an object that was really removed has none, and files that SoftHSM cannot read
    /// are remembered.
    ///
    /// - Parameter generation: The one in which something was missing.
    /// - Returns: Whether SoftHSM has looked anew since.
    /// - Throws: `tokenAbsent` where the token's directory is not there; `KeychainError`.
    func regainObjects(since generation: Int?) throws -> Bool {
        guard softHSM != nil, let generation, let module = loadedModule else { return false }
        guard try requirePresence() else { return false }
        do {
            let hidden = try hiddenObjects()
            guard sight.isLost || hidden > sight.unreadableFiles else {
                sight.noteAtMost(hidden)
                return module.generation != generation
            }
            try lookAnew(module, ifStillIn: generation)
            sight.isLost = false
            sight.noteUnreadable(try hiddenObjects())
        } catch let error as PKCS11Error { throw refusal(error, .read) }
        return true
    }

    /// Initialises the module again. It does not do so twice within a second, and the last time may have been before
    /// the objects were lost.
    func lookAnew(_ module: Module, ifStillIn generation: Int) throws(PKCS11Error) {
        forgetHandles()
        let deadline = Deadline.after(.seconds(2))
        while module.generation == generation, !deadline.hasPassed {
            try module.reinitialize(ifStillIn: generation)
            if module.generation == generation { usleep(20_000) }
        }
    }

    /// Sees to it that the token's directory is there.
    ///
    /// - Returns: Whether the token is there and whole; `false` also for tokens that are not ours.
    /// - Throws: `tokenAbsent` where it is not there; `fileUnavailable`.
    @discardableResult
    func requirePresence() throws -> Bool {
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

    /// The error of a token whose directory is not there. Once it is back, SoftHSM has to look anew.
    func absence() -> PKCS11Error {
        sight.isLost = true
        return PKCS11Error(function: .getSlotList, returnValue: .tokenNotPresent)
    }

    /// How many files there are of which SoftHSM shows no object; 0 where nobody is logged in, who sees no private
    /// ones.
    func hiddenObjects() throws -> Int {
        for pause in Self.pauses.prefix(6) {
            guard let before = changeDetector?.snapshot() else { return 0 }
            let (listed, isLoggedIn) = try pool().withSession { session in
                (try session.findObjects([.token(true)]).count, try session.info().isUserLoggedIn)
            }
            guard isLoggedIn else { return 0 }
            if listed >= before.entries.count { return 0 }
            // Not while somebody else makes or removes objects.
            if changeDetector?.snapshot()?.stamp == before.stamp { return before.entries.count - listed }
            usleep(pause)
        }
        return 0
    }
}
