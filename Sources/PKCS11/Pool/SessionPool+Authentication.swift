import KeyfobPrimitives

/// Keys that require the PIN at each use (`CKA_ALWAYS_AUTHENTICATE`).
extension SessionPool {
    /// Runs `body`, which sends the PIN for one use of a key.
    ///
    /// Does not run it if the PIN was refused before, or if the token reports that one more wrong PIN locks it. Call
    /// this from within an operation of `withSession`.
    ///
    /// Only one thread at a time runs `body`: otherwise several threads would send a wrong PIN before the first learns
    /// that it is wrong. A thread waits for the others as long as for a session.
    ///
    /// - Parameter slot: The slot of the operation's session.
    /// - Throws: The errors of `body`. After a refused PIN, the same error without calling `body`, until `login()` is
    ///   called. The answer of `C_GetTokenInfo`; with that function also `ReturnValue.pinIncorrect` or `pinLocked` if
    ///   the PIN is not sent because of the token's flags. `cantLock` if the others do not finish in time.
    package func authenticating<Output>(
        on slot: Slot, _ body: () throws(PKCS11Error) -> Output
    ) throws(PKCS11Error) -> Output {
        let turn = try state.wait(until: .after(configuration.deadline)) { state throws(PKCS11Error) -> Int? in
            if state.isAuthenticating { return nil }
            if case .refused(let error) = state.login { throw error }
            state.isAuthenticating = true
            return state.attempt
        }
        guard let attempt = turn else {
            // Not an error that means a lack of sessions: the operation would then be begun again, and wait again.
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
                    // After another login, the refusal concerned another PIN.
                    guard state.attempt == attempt else { return }
                    state.login = .refused(error)
                    // The token may be logged in with a PIN that was right earlier or was never checked.
                    state.provesPIN = true
                }
            }
            throw error
        }
    }
}
