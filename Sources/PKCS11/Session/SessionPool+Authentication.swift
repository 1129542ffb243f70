import KeyfobPrimitives

/// Keys that want the PIN at each use (`CKA_ALWAYS_AUTHENTICATE`).
extension SessionPool {
    /// Runs `body`, which sends the PIN for one use of a key, unless it was refused before or the token says that one
    /// more wrong one locks it. To be called from within an operation of `withSession`.
    ///
    /// Runs one at a time: of several threads each would send the PIN before the first knew that it is wrong. Waits for
    /// the others as long as for a session.
    ///
    /// - Parameter slot: Where the token is: that of the operation's session.
    /// - Throws: What `body` throws; where that was the refusal of a PIN, the same again without calling it, until
    ///   `login()` is called. What `C_GetTokenInfo` answered; as of that function `ReturnValue.pinIncorrect` or
    ///   `pinLocked` where the PIN is not sent for what the token says of it; `cantLock` where the others are not
    ///   done in time.
    package func authenticating<Output>(
        on slot: Slot, _ body: () throws(PKCS11Error) -> Output
    ) throws(PKCS11Error) -> Output {
        let state = currentState()
        let turn = try state.wait(until: .after(configuration.deadline)) { state throws(PKCS11Error) -> Int? in
            if state.isAuthenticating { return nil }
            if case .refused(let error) = state.login { throw error }
            state.isAuthenticating = true
            return state.attempt
        }
        guard let attempt = turn else {
            // Not as a want of sessions, after which the operation would be begun, and wait, anew.
            throw PKCS11Error(
                function: .login, returnValue: .cantLock,
                detail: "another thread takes too long with a key that wants the PIN at each use")
        }
        defer {
            state.withLock { $0.isAuthenticating = false }
            state.broadcast()
        }
        do throws(PKCS11Error) {
            let flags = try slot.tokenInfo(until: .after(configuration.deadline)).flags
            if case .refused(let value, let detail) = LoginDecision(
                flags: flags, allowFinalTry: configuration.allowFinalTry)
            {
                throw PKCS11Error(function: .getTokenInfo, returnValue: value, detail: detail)
            }
            return try body()
        } catch {
            if error.isRefusalOfPIN {
                state.withLock { state in
                    // After another login it was another PIN's refusal.
                    guard state.attempt == attempt else { return }
                    state.login = .refused(error)
                    // Somebody is logged in, by what was right once or was never looked at.
                    state.provesPIN = true
                }
            }
            throw error
        }
    }
}
