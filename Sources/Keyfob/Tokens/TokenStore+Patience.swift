import Foundation
import KeyfobPrimitives
import PKCS11
import Synchronization

/// Reaching a SoftHSM token while other processes log in to it.
///
/// SoftHSM empties and rewrites the token's file at every login of any process. On a busy disk the file has been seen
/// empty for a second. A process that looks in that time finds no token, one without a PIN, or a general error.
extension TokenStore {
    /// Whether the token is one of SoftHSM's: in our directory, or in another one.
    private var isInFiles: Bool {
        softHSM != nil || uri.manufacturer == "SoftHSM project"
    }

    /// Runs `body`, and again if a SoftHSM token could not be seen whole.
    ///
    /// Safe for calls that are not idempotent: what failed is the way to the token, before `body`'s own work.
    ///
    /// - Parameter first: What to do first if nobody has reached the token in this process.
    func patiently<Result>(
        first: (SessionPool) throws -> Void = { try $0.withSession { _ in } }, _ body: (SessionPool) throws -> Result
    ) throws -> Result {
        guard isInFiles else { return try body(pool()) }
        return try retryingUnseen { try body(reach(first)) }
    }

    /// Runs `body`, and again if a SoftHSM token could not be seen whole: a dozen times, and then until the deadline,
    /// since on a busy machine each of a dozen looks may meet an emptied file.
    private func retryingUnseen<Result>(_ body: () throws -> Result) throws -> Result {
        guard isInFiles else { return try body() }
        let deadline = Deadline.after(configuration.deadline)
        var attempt = 0
        while attempt < Self.attempts || !deadline.hasPassed {
            do {
                return try body()
            } catch let error as PKCS11Error where Self.isUnseen(error) {
                // A login that fails a dozen times has another reason.
                if error.function == .login, attempt >= Self.attempts { throw error }
                if let softHSM {
                    try recover(from: error, in: softHSM, attempt)
                } else {
                    try recover(from: error, attempt)
                }
                // Not in step with a process that logs in again and again.
                usleep(.random(in: 1_000...10_000) << UInt32(min(attempt, 4)))
            }
            attempt += 1
        }
        return try body()
    }

    private static let attempts = 12

    /// What the token says of itself, which needs no login.
    ///
    /// - Throws: `PKCS11Error`, and what loading the module throws.
    func info() throws -> TokenInfo {
        try withSight { try $0.tokenInfo() }
    }

    /// The slot that the token is in now.
    ///
    /// - Throws: `PKCS11Error`, with `tokenNotPresent` where it is in none; and what loading the module throws.
    func slot() throws -> Slot {
        try withSight { pool in
            if let slot = try pool.module.slot(matching: uri) { return slot }
            throw PKCS11Error(function: .getSlotList, returnValue: .tokenNotPresent)
        }
    }

    /// As `patiently`, for what needs no login, and does not count as one: the first login is still to be made alone.
    private func withSight<Result>(_ body: (SessionPool) throws -> Result) throws -> Result {
        awaitOpening()
        return try retryingUnseen {
            // After a login SoftHSM has made its list of tokens; else it does so now.
            if hasWorked.load(ordering: .relaxed) { return try body(pool()) }
            return try alone { try body(pool()) }
        }
    }

    /// Loads the module and logs in at the first call of this process, while no other process of Keyfob's does.
    private func reach(_ first: (SessionPool) throws -> Void) throws -> SessionPool {
        if hasWorked.load(ordering: .relaxed) { return try pool() }
        awaitOpening()
        if hasWorked.load(ordering: .relaxed) { return try pool() }
        let reached = try alone {
            let pool = try pool()
            try first(pool)
            return pool
        }
        hasWorked.store(true, ordering: .relaxed)
        return reached
    }

    /// Runs `body` while no other process of Keyfob initialises SoftHSM or logs in: to any token of our directory, or
    /// to this one in another directory.
    func alone<Result>(_ body: () throws -> Result) throws -> Result {
        let deadline = Deadline.after(configuration.deadline)
        if let softHSM { return try softHSM.holdingLoginLock(until: deadline, body) }
        guard isInFiles, let memory, let serial = uri.serial else { return try body() }
        return try memory.holdingLoginLock(serial: serial, label: label, deadline: deadline, body)
    }

    /// Waits until a token outside our directory may be whole again, and has SoftHSM look for it anew.
    ///
    /// SoftHSM lists tokens only when it is initialised. Whether the token's file is whole is not known here, so the
    /// number of attempts is small: an absent token is reported after about a second.
    ///
    /// - Throws: `error` if it is not one of the moment.
    private func recover(from error: PKCS11Error, _ attempt: Int) throws {
        guard error.returnValue != .pinIncorrect, let module = loadedModule else { throw error }
        let isUnknown = [.tokenNotPresent, .tokenNotRecognized].contains(error.returnValue)
        guard attempt < (isUnknown ? 2 : 6) else { throw error }
        guard isUnknown || attempt == 3 else { return }
        try alone { try lookAnew(module, ifStillIn: module.generation) }
    }

    /// Waits until the token's file is whole, and has SoftHSM look for tokens anew where that can help.
    ///
    /// SoftHSM lists tokens only when it is initialised. One that it does not know it will never know, and one that
    /// it has found broken in a bad moment it may hold for broken for ever. Initialising anew ends all sessions of
    /// the process, of other keychains too, which then log in again: it comes last where the token is known.
    ///
    /// - Throws: `tokenNotPresent` where the token is not there; `error` where nothing can be done for it;
    ///   `tokenAmbiguous` where SoftHSM would end the process.
    private func recover(from error: PKCS11Error, in softHSM: SoftHSMDirectory, _ attempt: Int) throws {
        guard let serial = uri.serial else { throw error }
        var isRestored = false
        switch try softHSM.awaitToken(serial: serial, label: label) {
        case .whole(let token):
            // The PIN is wrong, and not the token's file.
            guard token.hasUserPIN, error.returnValue != .pinIncorrect else { throw error }
        case .absent:
            // Whatever SoftHSM makes of the files that it cannot find.
            throw absence()
        case .unclear:
            let healing = try softHSM.heal(deadline: .after(configuration.deadline))
            isRestored = !healing.restored.isEmpty
            guard isRestored || healing.unusable.isEmpty else { throw error }
        }
        if error.returnValue == .pinIncorrect {
            guard isRestored, let module = loadedModule else { throw error }
            // What was refused was the right PIN for a file that was damaged.
            try softHSM.requireDistinctTokens()
            try alone { try lookAnew(module, ifStillIn: module.generation) }
            return forgetRefusal()
        }
        let isUnknown = error.returnValue == .tokenNotPresent || error.returnValue == .tokenNotRecognized
        // The module does so once a second at most, since other threads lose their sessions by it.
        guard isRestored || isUnknown && attempt >= 1 || attempt % 8 == 7 else { return }
        forgetHandles()
        try softHSM.requireDistinctTokens()
        try alone { try pool().module.reinitialize() }
    }

    /// Has SoftHSM look at its tokens anew where it has taken this one for broken; whether it did.
    ///
    /// SoftHSM does so for good when it reads the token's file while a login of another process has emptied it, and
    /// the other process then makes an object. It goes on to sign, and sees and makes no new objects.
    @discardableResult
    func regainSight() throws -> Bool {
        guard let softHSM, let serial = uri.serial, hasWorked.load(ordering: .relaxed) else { return false }
        if sight.isLost, try regainObjects(since: generation) { return true }
        for attempt in 0..<10 {
            if try pool().isTokenSound { return attempt > 2 }
            guard case .whole = try softHSM.awaitToken(serial: serial, label: label) else { return false }
            // Mostly the file was empty just now, and the next look finds it whole.
            if attempt >= 2 {
                forgetHandles()
                try softHSM.requireDistinctTokens()
                try pool().module.reinitialize()
            }
            usleep(20_000 << UInt32(min(attempt, 4)))
        }
        return false
    }

    /// Microseconds between tries of what SoftHSM cannot do for a moment: a quarter of a second in all.
    static let pauses = (0..<8).map { UInt32(1_000) << $0 }

    /// A public key that was just made. SoftHSM has been seen to tell it without its value, beside four processes that
    /// were making keys on the same token, and tells it a moment later.
    ///
    /// - Returns: What there is in the end; `nil` for an object that is none.
    func publicHalf(_ handle: ObjectHandle, in session: borrowing Session) throws -> TokenObject? {
        for pause in Self.pauses {
            let half = try read(handle, in: session)
            if try half?.publicKeyHash != nil || !isSoftHSM() { return half }
            usleep(pause)
        }
        return try read(handle, in: session)
    }

    /// Writes attributes of an object, and again where SoftHSM fails in general: on a machine with much to do it now
    /// and then does not get at the object's file, and gets at it a moment later.
    ///
    /// - Throws: `PKCS11Error`.
    func setAttributes(_ template: AttributeTemplate, of object: ObjectHandle, in session: borrowing Session) throws {
        for pause in Self.pauses {
            do throws(PKCS11Error) { return try session.setAttributes(template, of: object) } catch {
                guard error.returnValue == .generalError, try isSoftHSM() else { throw error }
            }
            usleep(pause)
        }
        try session.setAttributes(template, of: object)
    }

    /// Does a change of a token of ours once more, and a third time, where SoftHSM lost sight of what it had just made.
    ///
    /// Beside other programs that write to the same token it takes an object of its own for invalid now and then, and
    /// does not come back to it. `body` must have undone what it did when it throws.
    func retryingMomentaryFailures<Result>(_ body: () throws -> Result) throws -> Result {
        for pause in Self.pauses.suffix(2) {
            do { return try body() } catch let error as KeychainError {
                let value = (error.cause as? PKCS11Error)?.returnValue
                let isMomentary = [.objectHandleInvalid, .generalError, .functionFailed].contains(value)
                guard softHSM != nil, isMomentary || error.code == .tokenContractViolation else { throw error }
            }
            usleep(pause)
        }
        return try body()
    }

    private static func isUnseen(_ error: PKCS11Error) -> Bool {
        switch error.returnValue {
        case .tokenNotPresent, .tokenNotRecognized: true
        case .userPINNotInitialized, .userNotLoggedIn, .pinIncorrect: error.function == .login
        case .generalError: error.function == .getTokenInfo || error.function == .login
        default: false
        }
    }
}
