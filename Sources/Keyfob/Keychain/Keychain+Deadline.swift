import KeyfobToken

/// The end of blocking calls at a deadline, although a call of a module cannot be cancelled.
extension Keychain {
    var moduleLimit: Duration { options.moduleLimit }

    /// Runs the body of a blocking form, so that the caller gets an error if a call of the module does not return.
    ///
    /// - Throws: The errors of `body`; `KeychainError` with code `timedOut`.
    func withDeadline<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) throws -> Result {
        try options.withDeadline(isInProcess: !token.mayWaitForOthers, body)
    }
}

extension Keychain.Options {
    /// The maximum duration of a single call of the module before the caller gets an error.
    ///
    /// At least two seconds, since a shorter timeout limits the waiting for other processes, not the token's own work.
    var moduleLimit: Duration { max(timeout, .seconds(2)) }

    /// Runs `body` on a thread of Keyfob while the caller's thread waits, so that the caller gets an error if a call of
    /// the module does not return.
    ///
    /// - Parameters:
    ///   - isInProcess: Whether the module computes in this process. `body` then runs at once: it needs no deadline,
    ///     and the change of the thread takes as long as a signature.
    ///   - body: The work.
    /// - Returns: The result of `body`.
    /// - Throws: The errors of `body`; `KeychainError` with code `timedOut`.
    func withDeadline<Result: Sendable>(
        isInProcess: Bool, _ body: @escaping @Sendable () throws -> Result
    ) throws -> Result {
        guard !isInProcess, !endsWhenModuleHangs else { return try body() }
        return try ModuleWatch.runBlocking(limit: moduleLimit, body)
    }
}
