import Foundation
import KeyfobPrimitives
package import PKCS11
import Synchronization

/// Access to a SoftHSM token while other processes log in to it.
///
/// SoftHSM truncates and rewrites the token's file at every login of any process. On a busy disk the file has been seen
/// empty for a second. A process that reads it in that time finds no token, a token without a PIN, or gets a general
/// error.
extension TokenStore {
    /// Runs `body`, and again if a SoftHSM token was not readable for a moment.
    ///
    /// Safe for calls that are not idempotent: only access to the token fails in this way, before `body` does its own
    /// work.
    ///
    /// - Parameters:
    ///   - first: Runs first if this process has not reached the token before.
    ///   - body: The work.
    /// - Returns: The result of `body`.
    /// - Throws: Errors of the last attempt.
    package func retryingIfUnreadable<Result>(
        first: (SessionPool) throws -> Void = { try $0.withSession { _ in } }, _ body: (SessionPool) throws -> Result
    ) throws -> Result {
        guard isInFiles else { return try body(pool()) }
        return try retryingUnreadable { try body(reach(first)) }
    }

    /// Runs `body`, and again if a SoftHSM token was not readable for a moment.
    ///
    /// Tries a dozen times, and then until the deadline: on a busy machine each of a dozen attempts may meet an empty
    /// file.
    private func retryingUnreadable<Result>(_ body: () throws -> Result) throws -> Result {
        guard isInFiles else { return try body() }
        let deadline = Deadline.after(configuration.deadline)
        var attempt = 0
        while attempt < Self.attempts || !deadline.hasPassed {
            do {
                return try body()
            } catch let error as PKCS11Error where Self.isUnreadable(error) {
                // A login that fails a dozen times has another reason.
                if error.function == .login, attempt >= Self.attempts { throw error }
                if let softHSM {
                    try recover(from: error, in: softHSM, attempt)
                } else {
                    try recover(from: error, attempt)
                }
                // Random, to get out of step with a process that logs in repeatedly.
                usleep(.random(in: 1_000...10_000) << UInt32(min(attempt, 4)))
            }
            attempt += 1
        }
        return try body()
    }

    private static let attempts = 12

    /// The token's description of itself, which needs no login.
    ///
    /// - Throws: `PKCS11Error`, and errors of loading the module.
    package func info() throws -> TokenInfo {
        try retryingWithoutLogin { try $0.tokenInfo() }
    }

    /// The slot that the token is in now.
    ///
    /// - Throws: `PKCS11Error`, with `tokenNotPresent` if it is in none; errors of loading the module.
    package func slot() throws -> Slot {
        try retryingWithoutLogin { pool in
            if let slot = try pool.module.token(followingSerialOf: uri)?.slot { return slot }
            throw PKCS11Error(function: .getSlotList, returnValue: .tokenNotPresent)
        }
    }

    /// Like `retryingIfUnreadable`, for work without a login. It does not mark the token as reached, since the first
    /// login still needs the lock.
    private func retryingWithoutLogin<Result>(_ body: (SessionPool) throws -> Result) throws -> Result {
        awaitOpening()
        return try retryingUnreadable {
            // SoftHSM lists its tokens once. If a login has not made it do so, this call does.
            if hasWorked.load(ordering: .relaxed) { return try body(pool()) }
            return try holdingLoginLock { try body(pool()) }
        }
    }

    /// Loads the module and logs in at the first call of this process, while no other Keyfob process does.
    private func reach(_ first: (SessionPool) throws -> Void) throws -> SessionPool {
        if hasWorked.load(ordering: .relaxed) { return try pool() }
        awaitOpening()
        if hasWorked.load(ordering: .relaxed) { return try pool() }
        let reached = try holdingLoginLock {
            let pool = try pool()
            try first(pool)
            return pool
        }
        hasWorked.store(true, ordering: .relaxed)
        return reached
    }

    /// Runs `body` while no other Keyfob process initializes SoftHSM or logs in.
    ///
    /// The lock covers all tokens of Keyfob's directory; for a token in another directory, only that token.
    package func holdingLoginLock<Result>(_ body: () throws -> Result) throws -> Result {
        let deadline = Deadline.after(configuration.deadline)
        if let softHSM { return try softHSM.holdingLoginLock(until: deadline, body) }
        guard isInFiles, let memory, let serial = uri.serial else { return try body() }
        return try memory.holdingLoginLock(serial: serial, label: label, deadline: deadline, body)
    }

    /// Waits until a token outside Keyfob's directory may be readable again, and initializes SoftHSM again if needed.
    ///
    /// SoftHSM lists tokens only when it is initialized. The state of the token's file is not known here, so the number
    /// of attempts is small: an absent token is reported after about a second.
    ///
    /// - Throws: `error` if it is not a momentary one.
    private func recover(from error: PKCS11Error, _ attempt: Int) throws {
        guard error.returnValue != .pinIncorrect, let module = loadedModule else { throw error }
        let isUnknown = [.tokenNotPresent, .tokenNotRecognized].contains(error.returnValue)
        guard attempt < (isUnknown ? 2 : 6) else { throw error }
        guard isUnknown || attempt == 3 else { return }
        try holdingLoginLock { try reinitialize(module, ifStillIn: module.generation) }
    }

    /// Waits until the token's file is intact, and initializes SoftHSM again if that can help.
    ///
    /// SoftHSM lists tokens only when it is initialized. It never finds a token that it does not know, and may treat a
    /// token permanently as broken once it has read the file at a bad moment. Initializing it again ends all sessions
    /// of the process, including those of other keychains, which then log in again. So for a known token this is the
    /// last resort.
    ///
    /// - Throws: `tokenNotPresent` if the token is missing; `error` if nothing can be done; `tokenAmbiguous` if SoftHSM
    ///   would end the process.
    private func recover(from error: PKCS11Error, in softHSM: SoftHSMDirectory, _ attempt: Int) throws {
        guard let serial = uri.serial else { throw error }
        var isRestored = false
        switch try softHSM.awaitToken(serial: serial, label: label) {
        case .whole(let token):
            // The file is intact, so the PIN is really wrong.
            guard token.hasUserPIN, error.returnValue != .pinIncorrect else { throw error }
        case .absent:
            // Regardless of how SoftHSM reports the missing files.
            throw absence()
        case .unclear:
            let healing = try softHSM.heal(deadline: .after(configuration.deadline))
            isRestored = !healing.restored.isEmpty
            guard isRestored || healing.unusable.isEmpty else { throw error }
        }
        if error.returnValue == .pinIncorrect {
            guard isRestored, let module = loadedModule else { throw error }
            // SoftHSM refused the right PIN because the file was damaged.
            try softHSM.requireDistinctTokens()
            try holdingLoginLock { try reinitialize(module, ifStillIn: module.generation) }
            return forgetRefusal()
        }
        let isUnknown = error.returnValue == .tokenNotPresent || error.returnValue == .tokenNotRecognized
        // The module does so at most once a second, because other threads lose their sessions.
        guard isRestored || isUnknown && attempt >= 1 || attempt % 8 == 7 else { return }
        forgetHandles()
        try softHSM.requireDistinctTokens()
        try holdingLoginLock { try pool().module.reinitialize() }
    }

    /// Initializes SoftHSM again if it treats this token as broken.
    ///
    /// SoftHSM does so permanently if it reads the token's file while a login of another process has truncated it, and
    /// the other process then creates an object. It continues to sign, but neither sees nor creates new objects.
    ///
    /// - Returns: Whether SoftHSM was initialized again.
    @discardableResult
    package func reinitializeIfBroken() throws -> Bool {
        guard let softHSM, let serial = uri.serial, hasWorked.load(ordering: .relaxed) else { return false }
        if visibility.isStale, try reinitializeIfObjectsDropped(since: generation) { return true }
        for attempt in 0..<10 {
            if try pool().isTokenSound { return attempt > 2 }
            guard case .whole = try softHSM.awaitToken(serial: serial, label: label) else { return false }
            // Usually the file was empty for a moment, and the next attempt finds it intact.
            if attempt >= 2 {
                forgetHandles()
                try softHSM.requireDistinctTokens()
                try pool().module.reinitialize()
            }
            usleep(20_000 << UInt32(min(attempt, 4)))
        }
        return false
    }

    /// Pauses between attempts at what SoftHSM momentarily fails to do, in microseconds: a quarter of a second in
    /// total.
    package static let pauses = (0..<8).map { UInt32(1_000) << $0 }

    /// Reads a public key that was just created.
    ///
    /// While four processes were creating keys on the same token, SoftHSM has returned a new public key without its
    /// value, and a moment later with it.
    ///
    /// - Returns: The object as last read; `nil` if the handle does not name a key or certificate.
    package func publicHalf(_ handle: ObjectHandle, in session: borrowing Session) throws -> TokenObject? {
        for pause in Self.pauses {
            let half = try read(handle, in: session)
            if try half?.publicKeyHash != nil || !profile().has(.failsMomentarily) { return half }
            usleep(pause)
        }
        return try read(handle, in: session)
    }

    /// Sets attributes of an object, and retries on a general error of a token that fails momentarily.
    ///
    /// - Throws: `PKCS11Error`.
    package func setAttributes(
        _ template: AttributeTemplate, of object: ObjectHandle, in session: borrowing Session
    ) throws {
        for pause in Self.pauses {
            do throws(PKCS11Error) { return try session.setAttributes(template, of: object) } catch {
                guard error.returnValue == .generalError, try profile().has(.failsMomentarily) else { throw error }
            }
            usleep(pause)
        }
        try session.setAttributes(template, of: object)
    }

    /// Runs a change of the token, and again if it failed for a reason that has passed.
    ///
    /// - While other programs write to one of Keyfob's tokens, SoftHSM sometimes treats its own new object as invalid,
    ///   and does not recover. The change runs up to three times.
    /// - A device that is full of used keys is emptied, and the change runs once more.
    ///
    /// When `body` throws, it must have undone its changes.
    package func retryingMomentaryFailures<Result>(_ body: () throws -> Result) throws -> Result {
        for pause in Self.pauses.suffix(2) {
            do { return try body() } catch let error as KeychainError {
                let value = (error.cause as? PKCS11Error)?.returnValue
                if value == .generalError, let module = loadedModule, module.profile.has(.keepsUsedKeysLoaded) {
                    forgetHandles()
                    try reinitialize(module, ifStillIn: module.generation)
                    break
                }
                let isMomentary = [.objectHandleInvalid, .generalError, .functionFailed].contains(value)
                guard softHSM != nil, isMomentary || error.code == .tokenContractViolation else { throw error }
            }
            usleep(pause)
        }
        return try body()
    }

    private static func isUnreadable(_ error: PKCS11Error) -> Bool {
        switch error.returnValue {
        case .tokenNotPresent, .tokenNotRecognized: true
        case .userPINNotInitialized, .userNotLoggedIn, .pinIncorrect: error.function == .login
        case .generalError: error.function == .getTokenInfo || error.function == .login
        default: false
        }
    }
}
